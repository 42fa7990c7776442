package feedtree

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

const (
	houseEvery   = time.Minute
	peersEvery   = 3 * time.Second // new peers are remembered within this, for a node may be killed any time
	forgetEvery  = 24 * 60         // minutes between two looks for what is kept too long
	addrsSetting = "listened-on"
)

// keepHouse does what is to be done once in a while.
func (n *Node) keepHouse() {
	minute, moment := time.NewTicker(houseEvery), time.NewTicker(peersEvery)
	defer minute.Stop()
	defer moment.Stop()
	known, toSave, toForget := "", weekEvery, 1
	for {
		select {
		case <-n.life.ctx.Done():
			return
		case <-moment.C:
			n.retryStore(n.life.ctx)
			n.saveHosts(n.life.ctx)
			if now := n.peersMet(); now != known && n.savePeers() {
				known = now
			}
		case now := <-minute.C:
			n.savePeers()
			n.saveWays(n.life.ctx)
			n.saveSightings(n.life.ctx)
			n.desk.post(func(d *desk) { d.passTime() })
			if toSave--; toSave == 0 {
				var accounts map[string]keptWeek
				if n.desk.ask(n.life.ctx, func(d *desk) { accounts = d.accounts() }) == nil { // or they are saved at the end
					n.saveWeek(accounts)
				}
				toSave = weekEvery
			}
			if toForget--; toForget == 0 {
				n.forgetLeft(n.life.ctx, now)
				toForget = forgetEvery
			}
			if err := n.config.Store.Expire(n.life.ctx, now); err != nil && n.life.ctx.Err() == nil {
				n.config.Log.Warn("cannot drop expired events from the store", "error", err)
			}
		}
	}
}

// peersMet tells one set of peers from another.
func (n *Node) peersMet() string {
	var all []string
	for _, p := range n.net.Peers() {
		all = append(all, p.ID+" "+strings.Join(p.Addrs, " "))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// savePeers remembers who is connected, to join through them after a restart.
func (n *Node) savePeers() bool {
	var peers []store.Peer
	now := time.Now()
	for _, p := range n.net.Peers() {
		peers = append(peers, store.Peer{ID: p.ID, Addrs: p.Addrs, Seen: now})
	}
	if len(peers) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := n.config.Store.PutPeers(ctx, peers); err != nil {
		n.config.Log.Warn("cannot remember the peers met", "error", err)
		return false
	}
	return true
}

// listenedOn returns where the node listened when it last ran.
func (n *Node) listenedOn(ctx context.Context) ([]string, error) {
	value, _, err := n.config.Store.Setting(ctx, addrsSetting)
	if err != nil {
		return nil, fmt.Errorf("read where the node listened before: %w", err)
	}
	return strings.Fields(string(value)), nil
}

// saveAddrs remembers where the node listens: those who know it find it there
// after a restart.
func (n *Node) saveAddrs(ctx context.Context) {
	if err := n.config.Store.PutSetting(ctx, addrsSetting, []byte(strings.Join(n.net.Listening(), " "))); err != nil {
		n.config.Log.Warn("cannot remember the addresses listened on", "error", err)
	}
}
