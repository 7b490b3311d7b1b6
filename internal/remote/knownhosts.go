package remote

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"airgap.dev/airgap/internal/host"
)

// KnownHosts are the files that say which host has which key. Missing files
// are fine.
type KnownHosts struct {
	Files []string // read only: they belong to other users
	Own   string   // read, and written by Add

	mu sync.Mutex
}

// check requires the known key of h: by the fingerprint in its
// configuration, else by its address, else by its name.
func (k *KnownHosts) check(h Host, key ssh.PublicKey) error {
	if h.HostKey != "" {
		if ssh.FingerprintSHA256(key) == h.HostKey {
			return nil
		}
		return &HostKeyError{Host: h, Key: key, Known: []string{h.HostKey + " (airgap.yaml)"}}
	}
	judge, err := k.judge()
	if err != nil {
		return err
	}
	for _, name := range h.names() {
		err := judge(name, &net.TCPAddr{Port: h.Port}, key)
		known, is := errors.AsType[*knownhosts.KeyError](err)
		if is && len(known.Want) == 0 {
			continue // not known by this name
		}
		if is {
			err = &HostKeyError{Host: h, Key: key, Known: places(known.Want)}
		}
		return err
	}
	return &HostKeyError{Host: h, Key: key}
}

// names are those by which files may know the host.
func (h Host) names() []string {
	byName := h
	byName.Address = h.Name
	return slices.Compact([]string{h.Addr(), byName.Addr()})
}

func places(keys []knownhosts.KnownKey) []string {
	var all []string
	for _, k := range keys {
		all = append(all, fmt.Sprintf("%s %s (%s:%d)", k.Key.Type(), ssh.FingerprintSHA256(k.Key), k.Filename, k.Line))
	}
	return all
}

func (k *KnownHosts) judge() (ssh.HostKeyCallback, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var judges []ssh.HostKeyCallback
	for _, f := range append(slices.Clone(k.Files), k.Own) {
		judge, err := judgeBy(f)
		if err != nil {
			return nil, fmt.Errorf("read the known host keys: %w", err)
		}
		if judge != nil {
			judges = append(judges, judge)
		}
	}
	return anyOf(judges), nil
}

// judgeBy reads one file with the rights of its owner; nil if it does not
// exist.
func judgeBy(file string) (judge ssh.HostKeyCallback, err error) {
	err = host.AsOwner(file, func() error {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			return host.IgnoreMissing(err)
		}
		judge, err = knownhosts.New(file)
		return err
	})
	return judge, err
}

// anyOf judges by all files as by one: a key that one of them knows is known, and one
// that any of them revokes is not.
func anyOf(judges []ssh.HostKeyCallback) ssh.HostKeyCallback {
	return func(name string, remote net.Addr, key ssh.PublicKey) error {
		all, knows := &knownhosts.KeyError{}, false
		for _, judge := range judges {
			err := judge(name, remote, key)
			unknown, is := errors.AsType[*knownhosts.KeyError](err)
			if err != nil && !is {
				return err
			}
			if is {
				all.Want = append(all.Want, unknown.Want...)
			}
			knows = knows || err == nil
		}
		if knows {
			return nil
		}
		return all
	}
}

// preference is OpenSSH's order of host keys. Certificates are left out: we
// show keys to people and write them down.
var preference = []string{ //nolint:gochecknoglobals // a table
	ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
}

// algorithms asks a host for the kind of key that is known of it, if any:
// it may have several, and would show another.
func (k *KnownHosts) algorithms(h Host) ([]string, error) {
	judge, err := k.judge()
	if err != nil {
		return nil, err
	}
	var known []string
	for _, name := range h.names() {
		if e, is := errors.AsType[*knownhosts.KeyError](judge(name, &net.TCPAddr{Port: h.Port}, noKey{})); is {
			for _, w := range e.Want {
				known = append(known, signatures(w.Key.Type())...)
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(preference), func(a string) bool { return slices.Contains(known, a) })
	return append(known, rest...), nil
}

// signatures are the algorithms of a kind of key: RSA's bears SHA-1's name.
func signatures(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{keyType}
}

// noKey belongs to no host. The files answer a question about it with the known keys.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

// Add writes down that the key is the host's, after a person has vouched for it.
func (k *KnownHosts) Add(h Host, key ssh.PublicKey) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	data, err := os.ReadFile(k.Own)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write down the host key of %s: %w", h.Name, err)
	}
	if err := os.MkdirAll(filepath.Dir(k.Own), 0o755); err != nil {
		return fmt.Errorf("write down the host key of %s: %w", h.Name, err)
	}
	line := knownhosts.Line([]string{h.Addr()}, key) + "\n"
	return host.WriteFile(k.Own, append(data, line...), 0o600)
}
