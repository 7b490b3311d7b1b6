package encryption

import (
	"context"
	"crypto/hpke"
	"errors"
	"time"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/phases"
)

// follow executes the leader's phases on this host, to the end. Its key for
// the exchange exists as long as the run.
func (r Rotation) follow(ctx context.Context, leader string) (Rotated, error) {
	done := Rotated{Leader: leader}
	r.Say("%s leads the rotation, and this host follows", leader)
	x := r.Cluster.Exchange(r.Node)
	private, err := x.Ask(ctx)
	if err != nil {
		return done, err
	}
	last := phases.Phase("")
	for {
		// An answer may fail to come while an API server is restarted.
		var m *phases.State
		if err := await.Until(ctx, loadTime, func(ctx context.Context) (err error) { m, err = x.Read(ctx); return err }); err != nil {
			return done, err
		}
		if m == nil {
			return done, r.endFollowing(done.Key)
		}
		done.Key = m.To
		if err := r.step(x, m, private); err != nil {
			return done, err
		}
		if p := m.Phase(); p != last {
			r.Say("keys %s", p)
			last = p
		}
		select {
		case <-ctx.Done():
			return done, ctx.Err()
		case <-time.After(await.Interval(ctx)):
		}
	}
}

// step changes this host's keys to the order of the leader's phase.
func (r Rotation) step(x phases.Coordinator, m *phases.State, private hpke.PrivateKey) error {
	ring, err := readKeyring(r.Machine)
	if err != nil {
		return err
	}
	if _, has := ring.find(m.To); !has {
		text, err := x.Take(m, private)
		if err != nil || text == nil {
			return err
		}
		fresh, err := keyFrom(text, m.To)
		if err != nil {
			return err
		}
		ring = append(ring, fresh)
	}
	if m.Phase() == "" {
		return nil
	}
	// Any host that leads the continuation then knows the rotation.
	if err := r.noteUnderWay(m.To); err != nil {
		return err
	}
	ordered, err := ring.arrange(m.To, m.Phase())
	if err != nil {
		return err
	}
	_, err = r.place(ordered)
	return err
}

func (r Rotation) noteUnderWay(to string) error {
	name := r.Machine.Path(rotationFile)
	if have, err := host.ReadJSON[rotation](name); err != nil || have.To == to {
		return err
	}
	return host.WriteJSON(name, rotation{to})
}

// endFollowing tells the rotation's end from a leader that gave up.
func (r Rotation) endFollowing(to string) error {
	ring, err := readKeyring(r.Machine)
	if err != nil {
		return err
	}
	if len(ring) == 1 && (to == "" || ring.first().name == to) {
		return host.Remove(r.Machine.Path(rotationFile))
	}
	return &host.Failure{What: "follow the rotation", Err: errors.New("it has no leader any longer"), Next: "run the same command again: this host leads it then"}
}
