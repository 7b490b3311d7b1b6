package rpm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"

	"airgap.dev/airgap/bundle/rpm/pgp"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/cryptopolicy"
	"airgap.dev/airgap/internal/host"
)

const maxKeyFile = 1 << 20

// Keyring is a set of public keys that may sign packages or metadata.
type Keyring struct {
	entities openpgp.EntityList
	// servers are those whose rpm must accept the signatures; none: any server of Enterprise Linux 8.
	servers targets
	// leftOut are keys of the files that airgap or rpm of a server cannot use.
	leftOut []pgp.Unreadable
	doubts  []string // sentences about keys that rpm of a server may refuse
}

// ReadKeyring reads public keys, armored or binary. One file may contain several. It leaves out keys that it
// cannot read, as `rpm --import` does, and fails if no key is left.
func ReadKeyring(files ...[]byte) (Keyring, error) {
	var ring Keyring
	for _, data := range files {
		keys, wrong := pgp.ReadKeys(data)
		ring.entities, ring.leftOut = append(ring.entities, keys...), append(ring.leftOut, wrong...)
	}
	if len(ring.entities) == 0 {
		return Keyring{}, ring.none("the files contain no key that airgap can read")
	}
	return ring, nil
}

// none is the error of a keyring without a key.
func (k Keyring) none(why string) error {
	var reasons []string
	for _, u := range k.leftOut {
		reasons = append(reasons, u.String())
	}
	if len(reasons) > 0 {
		why += ": " + strings.Join(reasons, "; ")
	}
	return errors.New("read public keys: " + why)
}

// DatabaseNames returns the names of the keys in the rpm database: gpg-pubkey-ID-TIME.
func (k Keyring) DatabaseNames() []string {
	var names []string
	for _, e := range k.entities {
		names = append(names, fmt.Sprintf("gpg-pubkey-%08x-%08x", uint32(e.PrimaryKey.KeyId), e.PrimaryKey.CreationTime.Unix()))
	}
	return names
}

// forServers leaves out the keys that rpm of a server refuses: dnf fails there if it has to import one.
func (k Keyring) forServers(servers targets) (Keyring, error) {
	all := k.entities
	k.servers, k.entities = servers, nil
	for _, e := range all {
		fingerprint := fmt.Sprintf("%X", e.PrimaryKey.Fingerprint)
		switch reason, outcome := servers.key(pgp.Primary(e)); outcome {
		case cryptopolicy.Refused:
			k.leftOut = append(k.leftOut, pgp.Unreadable{Fingerprint: fingerprint, Reason: reason})
		case cryptopolicy.Unsure:
			k.doubts = append(k.doubts, "key "+fingerprint+": "+reason)
			fallthrough
		default:
			k.entities = append(k.entities, e)
		}
	}
	if len(k.entities) == 0 {
		return k, advice.Add(k.none("rpm of the servers accepts none of them"), "ask the vendor for a newer key, and for packages that are signed with it")
	}
	return k, nil
}

// notices are sentences about keys that the bundle does not have, or that rpm may refuse.
func (k Keyring) notices() []string {
	var all []string
	for _, u := range k.leftOut {
		all = append(all, "left out "+u.String())
	}
	for _, d := range k.doubts {
		all = append(all, d+": airgap preflight tests it on the server")
	}
	return all
}

// Fingerprints returns the fingerprints of the primary keys, in upper-case hex.
func (k Keyring) Fingerprints() []string {
	var all []string
	for _, e := range k.entities {
		all = append(all, fmt.Sprintf("%X", e.PrimaryKey.Fingerprint))
	}
	return all
}

// Armored returns one armored file per key, for `rpm --import` and gpgkey of dnf.
func (k Keyring) Armored() ([][]byte, error) {
	var files [][]byte
	for _, e := range k.entities {
		data, err := armored(openpgp.PublicKeyType, func(w io.Writer) error { return pgp.Serialize(e, w) })
		if err != nil {
			return nil, err
		}
		files = append(files, data)
	}
	return files, nil
}

func armored(kind string, serialize func(io.Writer) error) ([]byte, error) {
	var buf bytes.Buffer
	w, err := armor.Encode(&buf, kind, nil)
	if err != nil {
		return nil, err
	}
	if err := serialize(w); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	buf.WriteByte('\n')
	return buf.Bytes(), nil
}

// check verifies a detached signature of metadata, armored or binary, over signed. rpm of one server must accept it.
func (k Keyring) check(signed io.Reader, signature []byte) error {
	made, err := k.made(signed, signature)
	if err != nil {
		return err
	}
	return k.servers.any(made, time.Now())
}

// made returns the valid signatures over signed. Its error names the key that was left out, if it made one.
func (k Keyring) made(signed io.Reader, signatures ...[]byte) ([]pgp.Made, error) {
	made, err := pgp.Check(k.entities, signed, signatures...)
	if !errors.Is(err, pgp.ErrUnknownKey) {
		return made, err
	}
	for _, u := range k.leftOut {
		if n := len(u.Fingerprint); n >= 16 && (strings.Contains(err.Error(), u.Fingerprint) || strings.Contains(err.Error(), u.Fingerprint[n-16:])) {
			return nil, fmt.Errorf("%w, which is left out: %s", err, u.Reason)
		}
	}
	return nil, err
}

// fetchKeyring reads the keys of one repository from URLs and files, for the given servers.
func fetchKeyring(ctx context.Context, f Fetcher, names []string, servers targets) (Keyring, error) {
	var files [][]byte
	for _, name := range names {
		data, err := fetchKey(ctx, f, name)
		if err != nil {
			return Keyring{}, fmt.Errorf("read key %s: %w", name, err)
		}
		files = append(files, data)
	}
	ring, err := ReadKeyring(files...)
	if err != nil {
		return Keyring{}, err
	}
	return ring.forServers(servers)
}

func fetchKey(ctx context.Context, f Fetcher, name string) ([]byte, error) {
	if path, ok := keyFile(name); ok {
		return host.ReadInput(path, maxKeyFile)
	}
	return fetchAll(ctx, f, name, maxKeyFile)
}
