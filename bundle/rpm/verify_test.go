package rpm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/nevra"
)

func aPackage(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := BuildPackage(&b, spec("agent"), aKey()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestVerifyPackage(t *testing.T) {
	good := aPackage(t)
	want := nevra.NEVRA{Name: "agent", EVR: nevra.EVR{Version: "1.0", Release: "1"}, Arch: "x86_64"}
	unsigned := bytes.Clone(good)
	at := leadSize + introSize
	for entries := binary.BigEndian.Uint32(good[leadSize+8:]); entries > 0; entries, at = entries-1, at+entrySize {
		// Change every tag of the signature header.
		binary.BigEndian.PutUint32(unsigned[at:], 9000+entries)
	}
	change := func(offset int) []byte {
		data := bytes.Clone(good)
		data[offset] ^= 1
		return data
	}
	nameAt := bytes.Index(good[leadSize+200:], []byte("agent")) + leadSize + 200
	older := want
	older.Version = "0.9"
	tests := []struct {
		name    string
		data    []byte
		want    nevra.NEVRA
		keys    Keyring
		refusal string
	}{
		{"valid", good, want, aKey().Keyring(), ""},
		{"signed by another key", good, want, anotherKey().Keyring(), "not from a configured key"},
		{"another package", good, older, aKey().Keyring(), "the file is agent-0:1.0-1.x86_64"},
		{"payload changed", change(len(good) - 1), want, aKey().Keyring(), "payload is damaged"},
		{"truncated payload", good[:len(good)-1], want, aKey().Keyring(), "payload is damaged"},
		{"name changed", change(nameAt), want, aKey().Keyring(), "agent-0:1.0-1.x86_64"},
		{"not signed", unsigned, want, aKey().Keyring(), "it is not signed"},
		{"no keys", good, want, Keyring{}, "not from a configured key"},
		{"truncated header", good[:leadSize+100], want, aKey().Keyring(), "damaged"},
		{"not an RPM", []byte("<html>"), want, aKey().Keyring(), "not an RPM file"},
		{"empty", nil, want, aKey().Keyring(), "not an RPM file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := VerifyPackage(bytes.NewReader(tt.data), tt.want, tt.keys)
			if tt.refusal == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var refused *SignatureError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.refusal) {
				t.Errorf("got %v, want %q", err, tt.refusal)
			}
		})
	}
}

func FuzzRPMHeader(f *testing.F) {
	lead := leadMagic + strings.Repeat("\x00", leadSize-4)
	entry := "\x00\x00\x03\xe8\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00\x01" // name, a string
	header := headerMagic + "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x08" + entry + "example\x00"
	f.Add([]byte(lead + header + header))
	f.Add([]byte(lead))
	f.Fuzz(func(_ *testing.T, data []byte) {
		signatures, h, err := readHeaders(bytes.NewReader(data))
		if err != nil {
			return
		}
		_ = h.nevra()
		_, _ = payloadDigest(h)
		for tag := range signatures.entries {
			_ = signatures.binary(tag)
			_ = signatures.text(tag)
		}
	})
}
