package live

import (
	"strings"
	"testing"
	"time"
)

// FeedTree §4.2 lets members hang where routes lead; issue 3 wants the publisher at the
// top and members moving to better parents. Twenty loops that carry a publisher's
// events settle within two hops of it, and none refuses a frame that another sends.
func TestMembersMoveUpToThePublisher(t *testing.T) {
	inNetwork(t, 20, nil, func(t *testing.T, _ *memory, nodes []*member) {
		for _, m := range nodes {
			m.join(t, nil)
		}
		pass(5 * time.Second)
		publisher := nodes[7]
		publisher.publish(t, news(t, identity(t, 1), groupA, 1), 0)
		pass(3 * time.Minute)
		for _, m := range nodes {
			s, _ := m.loop.Group(groupA)
			if !s.Attached || len(s.Path) > 2 || len(s.Path) > 0 && s.Path[0] != publisher.id {
				t.Errorf("%s is below %q, want at most two hops below %s", m.id, s.Path, publisher.id)
			}
			_, refused := m.loop.Counters()
			for why, count := range refused {
				if strings.HasPrefix(why, "frame:") {
					t.Errorf("%s refused %d frames of honest nodes: %q", m.id, count, why)
				}
			}
		}
	})
}
