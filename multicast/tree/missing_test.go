package tree_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
)

// idle lets time pass with a parent that lives and has nothing, and lists what the
// application is told that it lacks.
func (s *solo) idle(d time.Duration) (lacks []uint64) {
	for end := s.now + d; s.now < end; {
		s.pass(100 * time.Millisecond)
		sends, notices := s.out.Sends, s.noticed(tree.Missing)
		for _, send := range sends {
			m := send.Msg
			switch m.Type {
			case tree.Ping:
				s.pong(send.To, m)
			case tree.Pull:
				s.receive(send.To, tree.Message{Type: tree.Lack, Group: group, Span: m.Span})
			}
			notices = append(notices, s.noticed(tree.Missing)...)
		}
		for _, n := range notices {
			for seq := n.From; seq <= n.To; seq++ {
				lacks = append(lacks, seq)
			}
		}
	}
	return lacks
}

// Of a burst some is lost here and there. The application hears of all of it after two
// rounds, once, and does not wait until nobody is asked for the first gap any more.
func TestAllThatIsMissingIsToldAtOnce(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	var lost []uint64
	for seq := uint64(1); seq <= 300; seq++ {
		if seq%10 == 5 {
			lost = append(lost, seq)
			continue
		}
		s.push("parent", event(seq))
	}
	if told := s.idle(15 * time.Second); !slices.Equal(told, lost) {
		t.Errorf("after 15 s it was told to lack %v, want %v", told, lost)
	}
	if told := s.idle(20 * time.Minute); len(told) > 0 {
		t.Errorf("told again that it lacks %v", told)
	}
	// What comes to be missing while a gap is asked for does not wait for that one's end.
	s.push("parent", event(302))
	told := s.idle(8 * time.Second)
	s.push("parent", event(304))
	if told = append(told, s.idle(15*time.Second)...); !slices.Equal(told, []uint64{301, 303}) {
		t.Errorf("told to lack %v, want 301 and 303", told)
	}
	// A run that grows while it is asked for is told whole; a new epoch begins anew.
	s.push("parent", beat(306, 1))
	told = s.idle(8 * time.Second)
	s.push("parent", beat(308, 2))
	if told = append(told, s.idle(20*time.Minute)...); !slices.Equal(told, []uint64{305, 306, 307, 308}) {
		t.Errorf("told to lack %v, want 305 to 308", told)
	}
	for _, seq := range []uint64{1, 2, 4} {
		ev := event(seq)
		ev.Stamp.Epoch = 2
		s.receive("parent", tree.Message{Type: tree.Data, Group: group, Event: ev})
	}
	if told := s.idle(time.Minute); !slices.Equal(told, []uint64{3}) {
		t.Errorf("of the next epoch told to lack %v, want 3", told)
	}
}
