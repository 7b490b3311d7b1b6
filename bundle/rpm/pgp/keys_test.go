package pgp

import (
	"bytes"
	"crypto"
	"encoding/binary"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"airgap.dev/airgap/internal/cryptopolicy"
)

// made is the creation time of the keys.
var made = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func config(at time.Time) *packet.Config {
	return &packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048, DefaultHash: crypto.SHA256, Time: func() time.Time { return at }, NonDeterministicSignaturesViaNotation: new(false)}
}

func newKey(name string, c *packet.Config) *openpgp.Entity {
	e, err := openpgp.NewEntity(name, "", name+"@vendor.example", c)
	if err != nil {
		panic(err)
	}
	return e
}

// vendor and other are keys of two vendors.
var (
	vendor = sync.OnceValue(func() *openpgp.Entity { return newKey("vendor", config(made)) })
	other  = sync.OnceValue(func() *openpgp.Entity { return newKey("other", config(made)) })
)

func public(t testing.TB, keys ...*openpgp.Entity) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range keys {
		if err := Serialize(e, &b); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func armored(t testing.TB, kind string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), '\n')
}

// unknown returns a public key packet, or a subkey, of an unknown algorithm.
func unknown(t testing.TB, tag uint8) []byte {
	t.Helper()
	body := binary.BigEndian.AppendUint32([]byte{4}, uint32(made.Unix()))
	var b bytes.Buffer
	if err := (&packet.OpaquePacket{Tag: tag, Contents: append(body, 99, 0, 8, 200)}).Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// insert puts data before the first packet with the tag; at the end if there is none.
func insert(t testing.TB, key, data []byte, tag uint8) []byte {
	t.Helper()
	packets, err := readPackets(bytes.NewReader(key))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	done := false
	for _, p := range packets {
		if p.Tag == tag && !done {
			b.Write(data)
			done = true
		}
		if err := p.Serialize(&b); err != nil {
			t.Fatal(err)
		}
	}
	if !done {
		b.Write(data)
	}
	return b.Bytes()
}

// TestReadKeys: a file can have parts that cannot be used next to usable keys, as for rpm --import.
func TestReadKeys(t *testing.T) {
	v, o := public(t, vendor()), public(t, other())
	block := func(data []byte) string { return string(armored(t, openpgp.PublicKeyType, data)) }
	damaged := strings.Replace(block(o), "\n\n", "\n\n!!!!", 1)
	badID := &packet.OpaquePacket{Tag: tagUserID, Contents: []byte("Vendor, without a signature of this name")}
	var id bytes.Buffer
	if err := badID.Serialize(&id); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data        string
		keys, wrong int
	}{
		"binary":                          {string(v), 1, 0},
		"armored":                         {block(v), 1, 0},
		"two blocks with text":            {"The key of 2025:\n" + block(v) + "and of 2026:\n" + block(o) + "end\n", 2, 0},
		"two keys in a block":             {block(append(bytes.Clone(v), o...)), 2, 0},
		"CRLF":                            {strings.ReplaceAll(block(v), "\n", "\r\n"), 1, 0},
		"an unknown algorithm first":      {string(unknown(t, tagPublicKey)) + string(v), 1, 1},
		"an unknown algorithm last":       {block(v) + block(unknown(t, tagPublicKey)), 1, 1},
		"only an unknown algorithm":       {block(unknown(t, tagPublicKey)), 0, 1},
		"an unknown subkey":               {string(insert(t, v, append(unknown(t, tagSubkey), aBinding(t)...), tagSubkey)), 1, 0},
		"an unknown subkey at the end":    {string(v) + string(unknown(t, tagSubkey)) + string(aBinding(t)), 1, 0},
		"a name without a signature":      {string(insert(t, v, id.Bytes(), tagUserID)), 1, 0},
		"a name with another's signature": {string(insert(t, v, append(id.Bytes(), aBinding(t)...), tagUserID)), 1, 0},
		"a signature of another version":  {string(insert(t, v, oddSignature(t), tagSubkey)), 1, 0},
		"a damaged block":                 {block(v) + damaged, 1, 1},
		"truncated":                       {block(v) + block(o)[:300], 1, 1},
		"a private key":                   {string(armored(t, openpgp.PrivateKeyType, v)), 0, 1},
		"an error page":                   {"<html>not found</html>", 0, 1},
		"empty":                           {"", 0, 0},
		"too many keys":                   {strings.Repeat(string(unknown(t, tagPublicKey)), maxKeys+5), 0, maxKeys + 1},
		"too many packets in a key":       {string(v) + strings.Repeat(string(oddSignature(t)), maxParts), 0, 1},
	} {
		keys, wrong := ReadKeys([]byte(c.data))
		if len(keys) != c.keys || len(wrong) != c.wrong {
			t.Errorf("%s: %d keys, %v; want %d and %d", name, len(keys), wrong, c.keys, c.wrong)
		}
		for _, k := range keys {
			if len(k.Identities) != 1 || len(k.Subkeys) != 1 {
				t.Errorf("%s: the key has %d names, %d subkeys", name, len(k.Identities), len(k.Subkeys))
			}
		}
	}
}

// aBinding is a signature that binds another subkey.
func aBinding(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := other().Subkeys[0].Sig.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// oddSignature is a signature packet of a version that does not exist.
func oddSignature(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := (&packet.OpaquePacket{Tag: tagSignature, Contents: []byte{9, 0, 1, 8, 0, 0, 0, 0}}).Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSerialize: a key with several names gives the same bytes each time, and is the same key.
func TestSerialize(t *testing.T) {
	e := newKey("one", config(made))
	for _, name := range []string{"two", "three", "four", "five"} {
		if err := e.AddUserId(name, "", name+"@vendor.example", config(made)); err != nil {
			t.Fatal(err)
		}
	}
	first := public(t, e)
	for range 20 {
		if !bytes.Equal(first, public(t, e)) {
			t.Fatal("the bytes change")
		}
	}
	keys, wrong := ReadKeys(first)
	if len(keys) != 1 || len(wrong) != 0 || len(keys[0].Identities) != 5 {
		t.Errorf("%v, %v", keys, wrong)
	}
}

// TestPrimary describes keys of vendors.
func TestPrimary(t *testing.T) {
	lifetime := config(made)
	lifetime.KeyLifetimeSecs = 86400
	revoked, replaced := newKey("revoked", config(made)), newKey("replaced", config(made))
	for e, reason := range map[*openpgp.Entity]packet.ReasonForRevocation{revoked: packet.KeyCompromised, replaced: packet.KeySuperseded} {
		if err := e.RevokeKey(reason, "", config(made.Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
	ed := config(made)
	ed.Algorithm = packet.PubKeyAlgoEdDSA
	for name, c := range map[string]struct {
		e     *openpgp.Entity
		wrong func(cryptopolicy.Key) bool
	}{
		"usual":    {vendor(), func(k cryptopolicy.Key) bool { return k.Bits != 2048 || !k.Expires.IsZero() || k.CannotSign }},
		"expires":  {newKey("expires", lifetime), func(k cryptopolicy.Key) bool { return !k.Expires.Equal(made.Add(24 * time.Hour)) }},
		"revoked":  {revoked, func(k cryptopolicy.Key) bool { return !k.Compromised || !k.Revoked.Equal(made.Add(time.Hour)) }},
		"replaced": {replaced, func(k cryptopolicy.Key) bool { return k.Compromised || !k.Revoked.Equal(made.Add(time.Hour)) }},
		"EdDSA":    {newKey("ed", ed), func(k cryptopolicy.Key) bool { return k.String() != "EdDSA" }},
	} {
		keys, wrong := ReadKeys(public(t, c.e))
		if len(keys) != 1 {
			t.Fatalf("%s: %v", name, wrong)
		}
		if k := Primary(keys[0]); c.wrong(k) || k.Version != 4 || !k.Created.Equal(made) || len(k.Bindings) == 0 {
			t.Errorf("%s: %+v", name, k)
		}
	}
}

// FuzzReadKeys: no file panics, and each key that is read can be written and read again.
func FuzzReadKeys(f *testing.F) {
	f.Add(public(f, vendor()))
	f.Add(armored(f, openpgp.PublicKeyType, public(f, other())))
	f.Add(append(unknown(f, tagPublicKey), oddSignature(f)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, _ := ReadKeys(data)
		for _, e := range keys {
			_ = Primary(e)
			if err := Serialize(e, io.Discard); err != nil {
				t.Errorf("write a key that was read: %v", err)
			}
		}
	})
}
