package joincode

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"regexp"
	"strings"
	"time"
)

// CodeTTL is how long a code for joining is good.
const CodeTTL = 2 * time.Hour

// Code lets one host join, once. It is a bootstrap token and the pin of the
// cluster's CA, and for a control-plane host the key to its Parcel as well. In text:
//
//	abcdef.0123456789abcdef.abcdefghijklmnop                              a worker's
//	abcdef.0123456789abcdef.abcdefghijklmnop.abcdefghijklmnopqrstuvwxyz   a control-plane host's
type Code struct {
	ID, secret string
	pin        string // of the cluster's CA
	seal       string // "" is a worker's
}

var codeForm = regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})\.([a-z2-7]{16})(?:\.([a-z2-7]{26}))?$`)

// ParseCode reads a code. The error never repeats it.
func ParseCode(text string) (Code, error) {
	parts := codeForm.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return Code{}, errors.New("that is no code: expected 6 characters, a dot, 16 characters, a dot, 16 characters, such as abcdef.0123456789abcdef.abcdefghijklmnop; and for a control-plane host a dot and 26 more")
	}
	return Code{ID: parts[1], secret: parts[2], pin: parts[3], seal: parts[4]}, nil
}

// newCode is a random one for the cluster with that pin: 80 bits of the token's
// secret, 130 of the seal.
func newCode(pin string, controlPlane bool) Code {
	text := strings.ToLower(rand.Text()) // 26 characters of base32
	c := Code{ID: text[:6], secret: text[6:22], pin: pin}
	if controlPlane {
		c.seal = strings.ToLower(rand.Text())
	}
	return c
}

// pinOf is what a code says of the cluster's CA: 80 bits of the SHA-256 of its
// public keys. To pass for the cluster, a CA would need a key of the same hash.
func pinOf(publicKeys ...[]byte) string {
	sum := sha256.New()
	for _, key := range publicKeys {
		sum.Write(key)
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum.Sum(nil)[:10]))
}

// ForControlPlane reports whether a control-plane host can join with it.
func (c Code) ForControlPlane() bool { return c.seal != "" }

// token is the code as Kubernetes knows it.
func (c Code) token() string { return c.ID + "." + c.secret }

// Reveal is the code in text, a secret: for the one who will type it, and for
// nothing that is kept.
func (c Code) Reveal() string {
	text := c.token() + "." + c.pin
	if c.seal != "" {
		text += "." + c.seal
	}
	return text
}

// String does not tell the secret, so that no message can.
func (c Code) String() string { return c.ID + ".…" }
