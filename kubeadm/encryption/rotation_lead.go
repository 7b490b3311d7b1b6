package encryption

import (
	"context"
	"fmt"
	"strings"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/phases"
)

// leading is a rotation on the host that leads it.
type leading struct {
	Rotation
	hosts []string // with an API server, this one included
	to    string   // name of the new key
}

// open announces the rotation to other hosts, if there are any, and returns the leader.
func (l leading) open(ctx context.Context) (leader string, err error) {
	if !l.several() {
		return l.Node, nil
	}
	leader, err = l.Cluster.Exchange(l.Node).Open(ctx, l.to, nil)
	if err == nil && leader == l.Node {
		l.Say("run airgap encryption rotate on the other control-plane hosts, too: all of %s go through it together", strings.Join(l.hosts, ", "))
	}
	return leader, err
}

func (l leading) several() bool { return len(l.hosts) > 1 }

// lead goes through the phases from the one that the keys are in.
func (l leading) lead(ctx context.Context, ring keyring) (secrets int, err error) {
	if err := l.revoke(ctx); err != nil {
		return 0, err
	}
	if ring.first().name != l.to {
		if _, has := ring.find(l.to); !has {
			ring = append(ring, ring.newKey(l.Provider))
		}
		if err := l.reach(ctx, ring, added); err != nil {
			return 0, err
		}
	}
	if len(ring) > 1 {
		if err := l.reach(ctx, ring, promoted); err != nil {
			return 0, err
		}
		if secrets, err = l.replace(ctx, ring); err != nil {
			return secrets, err
		}
	}
	if err := l.reach(ctx, ring, alone); err != nil {
		return secrets, err
	}
	if err := l.revoke(ctx); err != nil || !l.several() {
		return secrets, err
	}
	return secrets, l.Cluster.Exchange(l.Node).Close(ctx)
}

func (l leading) revoke(ctx context.Context) error {
	n, err := l.Cluster.Revoke(ctx)
	if n > 0 {
		l.Say("%d join tokens of control-plane hosts are revoked: they contain the old key", n)
	}
	return err
}

// reach changes the keys to the order of a phase, and waits until every API
// server has loaded them.
func (l leading) reach(ctx context.Context, ring keyring, p phases.Phase) error {
	ordered, err := ring.arrange(l.to, p)
	if err != nil {
		return err
	}
	hash, err := l.place(ordered)
	if err != nil {
		return err
	}
	l.Say("keys %s: waiting until every API server has loaded them; each looks once a minute", p)
	limit := loadTime
	if l.several() {
		limit = phases.GatherTime
	}
	fresh, _ := ring.find(l.to)
	secret, err := fresh.sealable()
	if err != nil {
		return err
	}
	err = await.Until(ctx, limit, func(ctx context.Context) error {
		if l.several() {
			if err := l.Cluster.Exchange(l.Node).Offer(ctx, l.hosts, map[string]string{phases.PhaseField: string(p)}, secret); err != nil {
				return err
			}
		}
		return l.Cluster.Loaded(ctx, hash)
	})
	if err != nil {
		return &host.Failure{What: "wait until every API server has loaded its keys", Err: err, Next: "run the same command again when every API server is up, and on every control-plane host: there it continues"}
	}
	return nil
}

// replace has every Secret encrypted by the new key. Only etcd's own answer
// lets the old one go.
func (l leading) replace(ctx context.Context, ring keyring) (int, error) {
	fresh, _ := ring.find(l.to)
	n, err := l.Cluster.Rewrite(ctx, func(n int) { l.Say("%d Secrets written again", n) })
	if err != nil {
		return n, err
	}
	others, err := l.Cluster.Others(ctx, fresh.prefix())
	if err != nil {
		return n, err
	}
	if others > 0 {
		return n, &host.Failure{What: "rotate the encryption key", Err: fmt.Errorf("%d Secrets in etcd are not encrypted by %s", others, l.to), Next: "run the same command again; the old key stays until then"}
	}
	l.Say("etcd holds no Secret of another key")
	return n, nil
}
