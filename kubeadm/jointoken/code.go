package jointoken

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"regexp"
	"strings"
	"time"
)

// TTL is the validity of a join token.
const TTL = 2 * time.Hour

// JoinToken is a join token: it lets one host join once. It contains a bootstrap token, a hash of the
// cluster's CA and, for a control-plane host, the secret that decrypts its ControlPlaneSecrets. As text:
//
//	abcdef.0123456789abcdef.abcdefghijklmnop                              of a worker
//	abcdef.0123456789abcdef.abcdefghijklmnop.abcdefghijklmnopqrstuvwxyz   of a control-plane host
type JoinToken struct {
	ID, secret string
	pin        string // of the cluster's CA
	seal       string // secret of the key of its ControlPlaneSecrets; "" for a worker
}

var codeForm = regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})\.([a-z2-7]{16})(?:\.([a-z2-7]{26}))?$`)

// ParseJoinToken parses the text of a join token. The error does not contain the text.
func ParseJoinToken(text string) (JoinToken, error) {
	parts := codeForm.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return JoinToken{}, errors.New("not a join token: expected 6 characters, a dot, 16 characters, a dot, 16 characters, such as abcdef.0123456789abcdef.abcdefghijklmnop; for a control-plane host also a dot and 26 characters")
	}
	return JoinToken{ID: parts[1], secret: parts[2], pin: parts[3], seal: parts[4]}, nil
}

// newCode creates a random join token for the cluster with this pin. The bootstrap token's secret
// has 80 bits, the seal 130.
func newCode(pin string, controlPlane bool) JoinToken {
	text := strings.ToLower(rand.Text()) // 26 characters of base32
	c := JoinToken{ID: text[:6], secret: text[6:22], pin: pin}
	if controlPlane {
		c.seal = strings.ToLower(rand.Text())
	}
	return c
}

// pinOf identifies the cluster's CA in a join token: 80 bits of the SHA-256 of its public keys. A
// foreign CA would need a key with the same hash.
func pinOf(publicKeys ...[]byte) string {
	sum := sha256.New()
	for _, key := range publicKeys {
		sum.Write(key)
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum.Sum(nil)[:10]))
}

// ForControlPlane reports whether the join token is for a control-plane host.
func (c JoinToken) ForControlPlane() bool { return c.seal != "" }

// token is the bootstrap token of Kubernetes.
func (c JoinToken) token() string { return c.ID + "." + c.secret }

// Reveal returns the text of the join token. It is a secret: show it to the user, but do not store
// it.
func (c JoinToken) Reveal() string {
	text := c.token() + "." + c.pin
	if c.seal != "" {
		text += "." + c.seal
	}
	return text
}

// String omits the secret, so that no message can contain it.
func (c JoinToken) String() string { return c.ID + ".…" }
