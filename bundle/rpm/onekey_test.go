package rpm

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"airgap.dev/airgap/bundle/rpm/rpmtest"
)

func TestOneKey(t *testing.T) {
	one, other := publicKey(t, aKey()), publicKey(t, anotherKey())
	both, err := armored(openpgp.PublicKeyType, func(w io.Writer) error {
		if err := aKey().entity.Serialize(w); err != nil {
			return err
		}
		return anotherKey().entity.Serialize(w)
	})
	if err != nil {
		t.Fatal(err)
	}
	far, err := armored(openpgp.PublicKeyType, func(w io.Writer) error { // the second key starts where the reader would stop
		first := binaryKey(t)
		filler := packet.OpaquePacket{Tag: tagUserID, Contents: make([]byte, maxKeyFile-len(first)-6)}
		_, err := w.Write(first)
		return errors.Join(err, filler.Serialize(w), anotherKey().entity.Serialize(w))
	})
	if err != nil {
		t.Fatal(err)
	}
	private, err := aKey().Private()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"one":                   {one, ""},
		"two blocks":            {append(bytes.Clone(one), other...), "it has 2 key blocks"},
		"two keys in a block":   {both, "it has 2 keys, and rpm --import would import all of them"},
		"two keys, far apart":   {far, "larger than allowed"},
		"the same twice":        {append(bytes.Clone(one), one...), "it has 2 key blocks"},
		"text before":           {append([]byte("compare this\n"), one...), "not one armored public key"},
		"text after":            {append(bytes.Clone(one), "and this"...), "not one armored public key"},
		"a private key":         {private, "not one armored public key"},
		"binary":                {binaryKey(t), "not one armored public key"},
		"empty":                 {nil, "not one armored public key"},
		"truncated":             {one[:len(one)/2], "not one armored public key"},
		"another kind of block": {[]byte(strings.ReplaceAll(string(one), "PUBLIC KEY BLOCK", "SIGNATURE")), "not one armored public key"},
	} {
		fingerprint, err := OneKey(c.data)
		if c.want == "" && (err != nil || fingerprint != aKey().Keyring().Fingerprints()[0]) {
			t.Errorf("%s: %s, %v", name, fingerprint, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func binaryKey(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := aKey().entity.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRPMImportsAllKeys shows the reason for OneKey with rpm: a separate database lists
// each key of a file, as INSTALL.txt says.
func TestRPMImportsAllKeys(t *testing.T) {
	rpmtest.Need(t, "rpm")
	dir := t.TempDir()
	for name, c := range map[string]struct {
		data []byte
		keys int
	}{"one": {publicKey(t, aKey()), 1}, "two": {append(publicKey(t, aKey()), publicKey(t, anotherKey())...), 2}} {
		file, db := filepath.Join(dir, name+".asc"), "--dbpath="+filepath.Join(dir, name)
		rpmtest.Write(t, file, c.data)
		rpmtest.Output(t, "rpm", db, "--import", file)
		lines := strings.Fields(rpmtest.Output(t, "rpm", db, "-q", "gpg-pubkey"))
		if len(lines) != c.keys {
			t.Errorf("%s: rpm has %q", name, lines)
		}
		short := strings.ToLower(aKey().Keyring().Fingerprints()[0])
		if want := "gpg-pubkey-" + short[len(short)-8:] + "-"; !strings.HasPrefix(strings.Join(lines, " "), want) && c.keys == 1 {
			t.Errorf("%s: rpm has %q, want %s", name, lines, want)
		}
	}
}
