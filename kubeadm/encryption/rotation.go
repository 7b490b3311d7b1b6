package encryption

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/phases"
)

// Rotation replaces the key that Secrets are encrypted with. Its phases are in
// the order in which no API server ever meets a key that it does not know:
//
//  1. the new key is added behind the old one, and every API server loads it;
//  2. the new key goes first, and every API server loads that;
//  3. every Secret is rewritten, and etcd is checked for old ones;
//  4. the old key goes, and every API server loads that.
//
// The keys themselves show the progress, so that an interrupted rotation continues
// when it runs again. If several hosts have an API server, it runs on each: the
// first one leads, the others follow.
type Rotation struct {
	Machine  host.Machine
	Node     string // this host's
	Provider string // of the new key
	Cluster  Cluster
	Say      func(format string, args ...any)
}

// Cluster has the operations of a rotation on the cluster.
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
	// Revoke revokes the join tokens of control-plane hosts, which would get the old
	// keys. It returns their number.
	Revoke(ctx context.Context) (int, error)

	// Exchange returns the exchange between the hosts.
	Exchange(node string) phases.Coordinator
}

// rotationFile records a rotation in progress and its new key. It contains no
// secret.
const rotationFile = host.StateDir + "/rotation.json"

type rotation struct {
	To string `json:"to"` // name of the new key
}

const (
	added    phases.Phase = "added"    // the old key, then the new one
	promoted phases.Phase = "promoted" // the new one, then the old one
	alone    phases.Phase = "alone"    // the new one
)

// RotationName is the Secret by which the hosts agree.
const RotationName = "airgap-rotation"

// An API server checks its file for changes once a minute. With several hosts, the
// operator must log in to each.
const (
	loadTime = 3 * time.Minute
)

// Rotated is the result of a rotation.
type Rotated struct {
	Key     string `json:"key"`              // the name of the key that encrypts now
	Secrets int    `json:"secrets"`          // that were written again
	Resumed bool   `json:"resumed"`          // it had been interrupted
	Changed bool   `json:"changed"`          // false: Key was this host's only one before, and the run just ended an interrupted rotation
	Leader  string `json:"leader,omitempty"` // the host that this one followed
}

// Run runs the rotation to its end. It completes a rotation that was interrupted before
// its last step and does not start another one: the interruption may be an hour or a
// year old.
func (r Rotation) Run(ctx context.Context) (Rotated, error) {
	before, err := readKeyring(r.Machine)
	if err != nil {
		return Rotated{}, err
	}
	done, err := r.run(ctx)
	done.Changed = len(before) > 1 || before.first().name != done.Key
	return done, err
}

func (r Rotation) run(ctx context.Context) (Rotated, error) {
	hosts, err := r.Cluster.Hosts(ctx)
	if err != nil {
		return Rotated{}, err
	}
	under, err := r.Cluster.Exchange(r.Node).Read(ctx)
	if err != nil {
		return Rotated{}, err
	}
	if under != nil && under.Leader != r.Node {
		return r.follow(ctx, under.Leader)
	}
	ring, to, resumed, err := r.begin()
	if err != nil {
		return Rotated{}, err
	}
	l := leading{Rotation: r, hosts: hosts, to: to}
	if leader, err := l.open(ctx); err != nil || leader != r.Node {
		return r.followInstead(ctx, leader, err)
	}
	done := Rotated{Key: to, Resumed: resumed}
	done.Secrets, err = l.lead(ctx, ring)
	if err != nil {
		return done, err
	}
	return done, host.Remove(r.Machine.Path(rotationFile))
}

// followInstead is for two hosts that began in the same moment.
func (r Rotation) followInstead(ctx context.Context, leader string, err error) (Rotated, error) {
	if err != nil {
		return Rotated{}, err
	}
	return r.follow(ctx, leader)
}

// begin finds out how far an earlier run came, or begins.
func (r Rotation) begin() (ring keyring, to string, resumed bool, err error) {
	if ring, err = readKeyring(r.Machine); err != nil {
		return nil, "", false, err
	}
	under, err := host.ReadJSON[rotation](r.Machine.Path(rotationFile))
	if err != nil {
		return nil, "", false, err
	}
	if under.To != "" {
		r.Say("continue the interrupted rotation to %s", under.To)
		return ring, under.To, true, nil
	}
	if len(ring) > 1 {
		return nil, "", false, &host.Failure{What: "rotate the encryption key", Err: fmt.Errorf("%s has %d keys, and no rotation by airgap is in progress", EncryptionFile, len(ring)), Next: "keep one key in it, or restore the file from another control-plane host"}
	}
	to = ring.newKey(r.Provider).name
	return ring, to, false, host.WriteJSON(r.Machine.Path(rotationFile), rotation{to})
}

// place writes the keys where the API server of this host finds them.
func (r Rotation) place(ring keyring) (hash string, err error) {
	text, err := ring.file()
	if err != nil {
		return "", err
	}
	path := r.Machine.Path(EncryptionFile)
	if holds, err := host.FileMatches(path, text, 0o600); err != nil || holds {
		return fileHash(text), err
	}
	return fileHash(text), host.WriteFile(path, text, 0o600)
}

// arrange puts the old and the new key into the order of a phase.
func (r keyring) arrange(to string, p phases.Phase) (keyring, error) {
	var before, after keyring
	for _, k := range r {
		if k.name == to {
			after = append(after, k)
		} else {
			before = append(before, k)
		}
	}
	switch {
	case len(after) != 1:
		return nil, errors.New("the new key is not there")
	case p == added:
		return append(before, after...), nil
	case p == promoted:
		return append(after, before...), nil
	}
	return after, nil
}

func (r keyring) first() key { return r[0] }

func (r keyring) find(name string) (key, bool) {
	for _, k := range r {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

// sealable is the key as it crosses the cluster, sealed.
func (k key) sealable() ([]byte, error) {
	return json.Marshal([]string{k.provider, k.name, k.secret})
}

// keyFrom reads the output of sealable; it must be the key with this name.
func keyFrom(text []byte, name string) (key, error) {
	var parts []string
	if json.Unmarshal(text, &parts) != nil || len(parts) != 3 || parts[1] != name {
		return key{}, fmt.Errorf("open the new key: it is not %s", name)
	}
	return key{parts[0], parts[1], parts[2]}, nil
}
