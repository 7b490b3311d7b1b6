package kubeadm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/host"
)

// Rotation replaces the key that Secrets are encrypted with. Its phases are in
// the order in which no API server ever meets a key that it does not know:
//
//  1. the new key is added behind the old one, and every API server loads it;
//  2. the new key goes first, and every API server loads that;
//  3. every Secret is written again, and etcd is asked whether that is so;
//  4. the old key goes, and every API server loads that.
//
// What is done is read from the keys themselves, so that a rotation which was
// interrupted anywhere goes on when it is run again.
type Rotation struct {
	Machine  Machine
	Provider string // of the new key
	Cluster  Cluster
	Say      func(format string, args ...any)
}

// Cluster is what a rotation asks of the cluster.
type Cluster interface {
	// Hosts are the nodes with an API server.
	Hosts(ctx context.Context) ([]string, error)
	// Loaded is nil when every API server has loaded a file of this hash; else
	// it says which has not.
	Loaded(ctx context.Context, hash string) error
	// Rewrite has every Secret written again with the first key, and returns
	// how many there are.
	Rewrite(ctx context.Context, done func(n int)) (int, error)
	// Others counts the Secrets in etcd that do not begin with prefix.
	Others(ctx context.Context, prefix string) (int, error)
}

// rotationFile says that a rotation is under way, and to which key. It holds
// no secret.
const rotationFile = stateDir + "/rotation.json"

type rotation struct {
	To string `json:"to"` // name of the new key
}

// loadTime is how long an API server may take to load a changed file: it looks
// once a minute.
const loadTime = 3 * time.Minute

// Rotated is what a rotation did.
type Rotated struct {
	Key     string `json:"key"`     // the name of the key that encrypts now
	Secrets int    `json:"secrets"` // that were written again
	Resumed bool   `json:"resumed"` // it had been interrupted
}

// Run runs the rotation to its end.
func (r Rotation) Run(ctx context.Context) (Rotated, error) {
	if err := r.alone(ctx); err != nil {
		return Rotated{}, err
	}
	ring, to, resumed, err := r.begin()
	done := Rotated{Key: to, Resumed: resumed}
	if err != nil {
		return done, err
	}
	if ring.first().name != to {
		if ring, err = r.promote(ctx, ring, to); err != nil {
			return done, err
		}
	}
	if len(ring) > 1 {
		if done.Secrets, err = r.replace(ctx, ring); err != nil {
			return done, err
		}
		ring = ring[:1]
	}
	if err := r.put(ctx, ring, "without the old key"); err != nil {
		return done, err
	}
	return done, host.Remove(r.Machine.path(rotationFile))
}

// alone refuses where the new key would have to travel: an API server without
// it could not read what the others write.
func (r Rotation) alone(ctx context.Context) error {
	hosts, err := r.Cluster.Hosts(ctx)
	if err != nil || len(hosts) == 1 {
		return err
	}
	return &Failure{What: "rotate the encryption key", Err: fmt.Errorf("the API servers of %s all need the new key, and it cannot be brought to the other hosts yet", strings.Join(hosts, ", "))}
}

// begin finds out how far an earlier run came, or begins.
func (r Rotation) begin() (ring keyring, to string, resumed bool, err error) {
	if ring, err = r.Machine.keyring(); err != nil {
		return nil, "", false, err
	}
	under, err := readJSON[rotation](r.Machine.path(rotationFile))
	if err != nil {
		return nil, "", false, err
	}
	if under.To != "" {
		r.Say("the rotation to %s goes on", under.To)
		return ring, under.To, true, nil
	}
	if len(ring) > 1 {
		return nil, "", false, &Failure{What: "rotate the encryption key", Err: fmt.Errorf("%s holds %d keys, and no rotation of airgap's is under way", EncryptionFile, len(ring)), Next: "leave one key in it, or put the file back from another control-plane host"}
	}
	to = ring.newKey(r.Provider).name
	return ring, to, false, writeJSON(r.Machine.path(rotationFile), rotation{to})
}

// promote brings the new key to the front by way of the back.
func (r Rotation) promote(ctx context.Context, ring keyring, to string) (keyring, error) {
	if !ring.has(to) {
		ring = append(ring, ring.newKey(r.Provider))
	}
	if err := r.put(ctx, ring, "with the new key beside the old one"); err != nil {
		return nil, err
	}
	slices.Reverse(ring)
	return ring, nil
}

// replace has every Secret encrypted by the first key. Only etcd's own answer
// lets the old key go.
func (r Rotation) replace(ctx context.Context, ring keyring) (int, error) {
	if err := r.put(ctx, ring, "with the new key first"); err != nil {
		return 0, err
	}
	n, err := r.Cluster.Rewrite(ctx, func(n int) { r.Say("%d Secrets written again", n) })
	if err != nil {
		return n, err
	}
	others, err := r.Cluster.Others(ctx, ring.first().prefix())
	if err != nil {
		return n, err
	}
	if others > 0 {
		return n, &Failure{What: "rotate the encryption key", Err: fmt.Errorf("%d Secrets in etcd are not encrypted by %s", others, ring.first().name), Next: "run the same command again; the old key stays until then"}
	}
	r.Say("etcd holds no Secret of another key")
	return n, nil
}

// put writes the keys and waits until every API server has loaded them.
func (r Rotation) put(ctx context.Context, ring keyring, what string) error {
	text, err := ring.file()
	if err != nil {
		return err
	}
	path := r.Machine.path(EncryptionFile)
	if holds, err := host.Holds(path, text, 0o600); err != nil {
		return err
	} else if !holds {
		if err := host.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	r.Say("the API server loads its keys, %s; it looks once a minute", what)
	if err := await(ctx, loadTime, func(ctx context.Context) error { return r.Cluster.Loaded(ctx, fileHash(text)) }); err != nil {
		return &Failure{What: "wait until every API server has loaded its keys", Err: err, Next: "run the same command again when every API server is up: it goes on there"}
	}
	return nil
}

func (r keyring) first() key { return r[0] }

func (r keyring) has(name string) bool {
	return slices.ContainsFunc(r, func(k key) bool { return k.name == name })
}
