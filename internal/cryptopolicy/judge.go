package cryptopolicy

import (
	"crypto"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"airgap.dev/airgap/internal/enterprise"
)

// Key describes an OpenPGP key, a primary key or a subkey.
type Key struct {
	Version   int    // of OpenPGP: 4, 6
	Algorithm int    // number of RFC 9580, section 9.1, and RFC 9980
	Bits      int    // of RSA and DSA; 0 for others
	Curve     string // of ECDSA and EdDSA, as sequoia names it: "nistp256"
	// Bindings are the hashes of its newest self-signatures.
	Bindings []crypto.Hash
	Bound    time.Time // creation of the newest self-signature
	Created  time.Time
	Expires  time.Time // zero if it does not expire
	Revoked  time.Time // zero if it is not revoked
	// Compromised means that its revocation gives no reason, or that others have the key: also its older
	// signatures are worthless (RFC 9580, section 5.2.3.31).
	Compromised bool
	CannotSign  bool // its flags do not permit signatures of data
}

// Signature describes an OpenPGP signature over a package or over metadata.
type Signature struct {
	Version int
	Hash    crypto.Hash
	Created time.Time
	Expires time.Time // zero if it does not expire
}

// Numbers of algorithms: RFC 9580, section 9.1, and RFC 9980, section 10.
const (
	rsa, rsaSign     = 1, 3
	dsa              = 17
	ecdsa            = 19
	eddsa            = 22
	ed25519, ed448   = 27, 28
	mldsa65, mldsa87 = 30, 31
)

func algorithmName(number int) string {
	switch number {
	case rsa, rsaSign:
		return "RSA"
	case dsa:
		return "DSA"
	case ecdsa:
		return "ECDSA"
	case eddsa:
		return "EdDSA"
	case ed25519:
		return "Ed25519"
	case ed448:
		return "Ed448"
	case mldsa65:
		return "ML-DSA-65 with Ed25519"
	case mldsa87:
		return "ML-DSA-87 with Ed448"
	}
	return fmt.Sprintf("algorithm %d", number)
}

// String names the kind of the key: "RSA 1024", "EdDSA".
func (k Key) String() string {
	name := algorithmName(k.Algorithm)
	if k.Bits > 0 && (k.isRSA() || k.Algorithm == dsa) {
		name += " " + strconv.Itoa(k.Bits)
	}
	if k.Version > 4 {
		name += fmt.Sprintf(", OpenPGP version %d", k.Version)
	}
	return name
}

func (k Key) isRSA() bool { return k.Algorithm == rsa || k.Algorithm == rsaSign }

// Key answers whether rpm can import the primary key, and uses it.
func (p Policy) Key(k Key) Answer {
	kind := p.kind(k)
	for _, h := range k.Bindings {
		kind = worst(kind, p.hash(h, "a self-signature"))
	}
	return kind
}

// Signature answers whether rpm accepts a valid signature by the key at the time now.
func (p Policy) Signature(s Signature, k Key, now time.Time) Answer {
	return worst(p.kind(k), p.hash(s.Hash, "its signature"), p.format(s), p.times(s, k, now))
}

// clockSkew is how far in the future a signature may be: rpm-sequoia permits five minutes.
const clockSkew = 5 * time.Minute

const day = "2006-01-02 15:04 UTC"

// times judges a signature by the clock. airgap refuses a signature from the future for all releases. rpm of
// EL 8 and 9 compares no other time, not even that of the expiry of a key or of its revocation, because its own
// OpenPGP parser does not read them (rpm 4.14 and 4.16, rpmpgp.c). rpm of EL 10 asks sequoia, which judges
// the key at the time of the signature, or now if the key has lost its older self-signatures (rpm-sequoia,
// pgp_verify_signature). airgap also refuses compromised keys on EL 8 and 9: anyone can have signed.
func (p Policy) times(s Signature, k Key, now time.Time) Answer {
	at := func(t time.Time) string { return t.UTC().Format(day) }
	switch {
	case s.Created.After(now.Add(clockSkew)):
		return refused("its signature is from the future (%s): the clock of the signer, or of this host, is wrong", at(s.Created))
	case k.Compromised:
		return refused("its key is revoked")
	case p.classic():
		return Answer{}
	case s.Created.Before(k.Created):
		return refused("its signature (%s) is older than its key (%s)", at(s.Created), at(k.Created))
	case !s.Expires.IsZero() && now.After(s.Expires):
		return refused("its signature has expired (%s)", at(s.Expires))
	}
	then := s.Created
	if then.Before(k.Bound) {
		then = now
	}
	switch {
	case !k.Expires.IsZero() && then.After(k.Expires):
		return refused("its key expired (%s) before the signature (%s)", at(k.Expires), at(s.Created))
	case !k.Revoked.IsZero() && !then.Before(k.Revoked):
		return refused("its key was revoked (%s)", at(k.Revoked))
	case k.CannotSign:
		return refused("its key may not sign data")
	}
	return Answer{}
}

// classic reports whether rpm has its own OpenPGP parser, and no sequoia: EL 8 with rpm 4.14, EL 9 with 4.16.
func (p Policy) classic() bool { return enterprise.Of(p.OS).OwnOpenPGP }

// kind judges a key by its algorithm and size.
func (p Policy) kind(k Key) Answer {
	if !p.classic() {
		return p.sequoiaKey(k)
	}
	// rpm --import of EL 8 and 9 fails for a primary key with EdDSA or ECDSA (jenkins-infra, pull request 2720;
	// rpm, pull request 3034), and both ignore version 6 (RHEL 10, "Signing RPM packages").
	switch {
	case k.Version > 4:
		return refused("its key is of OpenPGP version %d, and rpm of %s reads version 4", k.Version, p.release())
	case !k.isRSA() && k.Algorithm != dsa:
		return refused("its key is %s, and rpm of %s reads only RSA and DSA", k, p.release())
	case p.FIPS && (k.Algorithm == dsa || k.Bits < 2048):
		return unsure("its key is %s, which OpenSSL of %s may refuse in FIPS mode", k, p.release())
	}
	return Answer{}
}

// format judges the version of the signature's packet. rpm of EL 8 and 9 reads versions 3 and 4, and rpm-sequoia
// also permits version 3 (rpm-sequoia, rpmInitCrypto). Version 6 came with EL 10.1 (RHEL 10, "Signing RPM packages").
func (p Policy) format(s Signature) Answer {
	switch {
	case s.Version <= 4:
		return Answer{}
	case p.classic():
		return refused("its signature is of OpenPGP version %d, and rpm of %s reads versions 3 and 4", s.Version, p.release())
	case p.Version == "10.0":
		return refused("its signature is of OpenPGP version %d, which rpm reads since EL 10.1", s.Version)
	case p.Version == "":
		return unsure("its signature is of OpenPGP version %d, which rpm reads since EL 10.1", s.Version)
	}
	return Answer{}
}

// ReadsManySignatures reports whether rpm reads the signatures of RPM version 6, and then ignores those of
// version 4 (rpm, format_v6; native since EL 10.1, RHEL 9, "Verifying RPM packages with post-quantum signatures").
func (p Policy) ReadsManySignatures() bool {
	return !p.classic() && !slices.Contains([]string{"", "10", "10.0"}, p.Version)
}

// Payload answers whether rpm installs a package whose header has no SHA-256 of its payload: one from before
// rpm 4.14. In FIPS mode MD5 is missing, and rpm reports "no digest" (Red Hat, solution 4460971).
func (p Policy) Payload(hasDigest bool) Answer {
	if p.FIPS && !hasDigest {
		return refused("its header has no SHA-256 of the payload, which rpm requires in FIPS mode: it was built with rpm before 4.14")
	}
	return Answer{}
}

// hash judges the hash of a signature. what is the signature.
func (p Policy) hash(h crypto.Hash, what string) Answer {
	switch {
	case !p.classic():
		return p.sequoiaHash(h, what)
	case slices.Contains([]crypto.Hash{crypto.SHA224, crypto.SHA256, crypto.SHA384, crypto.SHA512}, h):
		return Answer{}
	case h == crypto.SHA1:
		return p.sha1(what)
	}
	return refused("%s is over %s, which rpm of %s does not read", what, h, p.release())
}

// sha1 judges a signature over SHA-1. rpm of EL 8 accepts it with each policy. On EL 9, OpenSSL decides: LEGACY and
// the module SHA1 permit it (Red Hat, solution 6868611).
func (p Policy) sha1(what string) Answer {
	no := refused("%s is over SHA-1, which %s refuses", what, p)
	_, modules := p.base()
	switch base, _ := p.base(); {
	case enterprise.Of(p.OS).SHA1:
		return Answer{}
	case p.SHA1 == "no":
		return no
	case p.SHA1 == "yes" && p.FIPS:
		return p.unsureOfPolicy("SHA-1")
	case p.SHA1 == "yes":
		return Answer{}
	case base == "LEGACY" && p.plain() && !slices.Contains(modules, "NO-SHA1"):
		return Answer{}
	case slices.Contains(modules, "SHA1"):
		return Answer{}
	case p.plain():
		return no
	}
	return p.unsureOfPolicy("SHA-1")
}

// hashName is the name of a hash in sequoia's file: "sha256".
func hashName(h crypto.Hash) string {
	return strings.ToLower(strings.Replace(h.String(), "SHA-", "SHA", 1))
}
