package remote

import (
	"bytes"
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
	Files  []string  // read only: they belong to other users
	Own    string    // read, and written by Add
	Listed *HostKeys // fingerprints from a file of the site, before all files; nil: none

	mu sync.Mutex
}

// check requires the known key of h: by the fingerprint in its configuration, else by the list of the site, else by its
// address, else by its name. A revoked key is always refused.
func (k *KnownHosts) check(h Host, key ssh.PublicKey) error {
	files, err := k.read(h)
	if err == nil {
		if err := files.revoked(h, key); err != nil {
			return err
		}
	}
	if h.HostKey != "" {
		if ssh.FingerprintSHA256(key) == h.HostKey {
			return nil
		}
		return &HostKeyError{Host: h, Key: key, Known: []string{h.HostKey + " (airgap.yaml)"}}
	}
	if listed := k.Listed.of(h); len(listed) > 0 {
		return judgeListed(h, key, listed)
	}
	if err != nil {
		return err
	}
	if cert, is := key.(*ssh.Certificate); is {
		return files.checkCert(h, cert)
	}
	return files.checkKey(h, key)
}

// lists reports whether the list of the site has the host.
func (k *KnownHosts) lists(h Host) bool { return len(k.Listed.of(h)) > 0 }

// checkKey judges by all files as by one: a key that one of them knows is known.
func (f knownFiles) checkKey(h Host, key ssh.PublicKey) error {
	for _, name := range h.names() {
		known, _ := f.known(h, name)
		if len(known) == 0 {
			continue // not known by this name
		}
		if slices.ContainsFunc(known, func(k knownhosts.KnownKey) bool { return same(k.Key, key) }) {
			return nil
		}
		return &HostKeyError{Host: h, Key: key, Known: places(known)}
	}
	for _, name := range h.withoutPort() {
		if known, _ := f.known(h, name); slices.ContainsFunc(known, func(k knownhosts.KnownKey) bool { return same(k.Key, key) }) {
			return nil
		}
	}
	return &HostKeyError{Host: h, Key: key}
}

// names are those by which files may know the host.
func (h Host) names() []string {
	if h.KeyAlias != "" {
		return []string{net.JoinHostPort(h.KeyAlias, "22")} // as OpenSSH: without its port
	}
	byName := h
	byName.Address = h.Name
	return slices.Compact([]string{h.Addr(), byName.Addr()})
}

// withoutPort are the names by which files may know a host with another port than 22. As with OpenSSH, they can only
// confirm a key.
func (h Host) withoutPort() []string {
	if h.KeyAlias != "" || h.Port == 22 {
		return nil
	}
	h.Port = 22
	return h.names()
}

func places(keys []knownhosts.KnownKey) []string {
	var all []string
	for _, k := range keys {
		all = append(all, fmt.Sprintf("%s %s (%s:%d)", k.Key.Type(), ssh.FingerprintSHA256(k.Key), k.Filename, k.Line))
	}
	return all
}

// knownFile is one file. The library returns the keys of authorities together with those of hosts.
type knownFile struct {
	judge       ssh.HostKeyCallback
	authorities map[int]bool // lines with @cert-authority
}

type knownFiles []knownFile

func (k *KnownHosts) read(h Host) (all knownFiles, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	files := append(append(slices.Clone(k.Files), h.KnownHosts...), k.Own)
	for _, f := range files {
		one, err := readKnown(f)
		if err != nil {
			return nil, fmt.Errorf("read the known host keys: %w", err)
		}
		if one != nil {
			all = append(all, *one)
		}
	}
	return all, nil
}

// readKnown reads one file with the rights of its owner; nil if it does not
// exist.
func readKnown(file string) (known *knownFile, err error) {
	err = host.AsOwner(file, func() error {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			return host.IgnoreMissing(err)
		}
		judge, err := knownhosts.New(file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		known = &knownFile{judge, map[int]bool{}}
		for i, line := range bytes.Split(text, []byte("\n")) {
			if bytes.HasPrefix(bytes.TrimSpace(line), []byte(authorityMarker)) {
				known.authorities[i+1] = true
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return known, nil
}

// known returns the keys of the host with this name, and the authorities for it.
func (f knownFiles) known(h Host, name string) (keys, authorities []knownhosts.KnownKey) {
	for _, file := range f {
		all, is := errors.AsType[*knownhosts.KeyError](file.judge(name, &net.TCPAddr{Port: h.Port}, noKey{}))
		if !is {
			continue
		}
		for _, k := range all.Want {
			if file.authorities[k.Line] {
				authorities = append(authorities, k)
			} else {
				keys = append(keys, k)
			}
		}
	}
	return keys, authorities
}

// preference is OpenSSH's order of host keys.
var preference = []string{ //nolint:gochecknoglobals // a table
	ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
}

// algorithms asks a host for the kind of key that is known of it, if any: it may have several, and would show another.
// It asks for a certificate only if an authority is known for the host, because a user cannot confirm a certificate.
func (k *KnownHosts) algorithms(h Host) ([]string, error) {
	files, err := k.read(h)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range append(h.names(), h.withoutPort()...) {
		keys, authorities := files.known(h, name)
		if len(authorities) > 0 {
			all = append(slices.Clone(certificates), all...)
		}
		for _, w := range keys {
			all = append(all, signatures(w.Key.Type())...)
		}
	}
	return unique(append(all, preference...)), nil
}

// unique keeps the first of equal values.
func unique(all []string) (one []string) {
	for _, a := range all {
		if !slices.Contains(one, a) {
			one = append(one, a)
		}
	}
	return one
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
	line := knownhosts.Line(h.names()[:1], key) + "\n"
	return host.WriteFile(k.Own, append(data, line...), 0o600)
}
