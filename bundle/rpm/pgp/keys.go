// Package pgp reads OpenPGP keys and signatures as rpm does, for the keys of vendors and the signatures
// of packages and metadata.
//
// It tolerates files with keys, subkeys and signatures that it does not know, reads signatures of
// version 3, and describes the keys for package cryptopolicy, which decides whether rpm of a server
// accepts them. It does not decide on trust: a key is as good as the file it comes from.
package pgp

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"airgap.dev/airgap/internal/cryptopolicy"
)

// Tags of OpenPGP packets (RFC 9580, section 5).
const (
	tagSignature = 2
	tagPublicKey = 6
	tagUserID    = 13
	tagSubkey    = 14
)

// Limits of one file. A vendor's file has fewer than ten keys.
const (
	maxKeys    = 200
	maxPackets = 20_000
	maxParts   = 2_000 // packets of one key
	maxTried   = 50    // user IDs and subkeys of one key
)

// Unreadable is a key of a file, or a part of the file, that cannot be used.
type Unreadable struct {
	Fingerprint string // upper-case hex; "" if it is unknown
	Reason      string
}

func (u Unreadable) String() string {
	if u.Fingerprint == "" {
		return "a key without a readable fingerprint: " + u.Reason
	}
	return "key " + u.Fingerprint + ": " + u.Reason
}

// ReadKeys reads the public keys of a file: binary, or blocks of armor with text around them. Vendors
// concatenate blocks. It returns the keys that cannot be used instead of failing: `rpm --import` also
// goes on with the next key.
func ReadKeys(data []byte) (openpgp.EntityList, []Unreadable) {
	var keys openpgp.EntityList
	var wrong []Unreadable
	for _, block := range blocks(data) {
		packets, err := readPackets(block)
		for _, group := range split(packets, tagPublicKey) {
			if len(keys)+len(wrong) == maxKeys {
				return keys, append(wrong, Unreadable{Reason: fmt.Sprintf("the file has more than %d keys", maxKeys)})
			}
			key, unreadable := readKey(group)
			if unreadable != nil {
				wrong = append(wrong, *unreadable)
				continue
			}
			keys = append(keys, key)
		}
		if err != nil {
			wrong = append(wrong, Unreadable{Reason: err.Error()})
		}
	}
	return keys, wrong
}

// blocks returns a reader for each armored block, or one for a binary file.
func blocks(data []byte) []io.Reader {
	const begin = "-----BEGIN PGP"
	if !bytes.Contains(data, []byte(begin)) {
		return []io.Reader{bytes.NewReader(data)}
	}
	var all []io.Reader
	for _, part := range bytes.Split(data, []byte(begin))[1:] {
		block, err := armor.Decode(bytes.NewReader(append([]byte(begin), part...)))
		switch {
		case err != nil:
			all = append(all, failing{fmt.Errorf("it is not armored: %w", err)})
		case block.Type != openpgp.PublicKeyType:
			all = append(all, failing{fmt.Errorf("it is a %s", block.Type)})
		default:
			all = append(all, block.Body)
		}
	}
	return all
}

// failing is a block that cannot be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// readPackets returns the packets up to the first damaged one.
func readPackets(r io.Reader) ([]*packet.OpaquePacket, error) {
	var all []*packet.OpaquePacket
	for reader := packet.NewOpaqueReader(r); len(all) < maxPackets; {
		p, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, fmt.Errorf("read OpenPGP packet: %w", err)
		}
		all = append(all, p)
	}
	return all, fmt.Errorf("it has more than %d packets", maxPackets)
}

// split starts a new group at each packet with the tag. It drops the packets before the first one.
func split(packets []*packet.OpaquePacket, tag uint8) [][]*packet.OpaquePacket {
	var groups [][]*packet.OpaquePacket
	for _, p := range packets {
		if p.Tag == tag {
			groups = append(groups, nil)
		}
		if n := len(groups); n > 0 {
			groups[n-1] = append(groups[n-1], p)
		}
	}
	return groups
}

// readKey reads a primary key with its user IDs and subkeys. The library fails for a key with a part that it does
// not know or accept, so each user ID and each subkey is tried, and unknown signatures are left out.
func readKey(group []*packet.OpaquePacket) (*openpgp.Entity, *Unreadable) {
	if len(group) > maxParts {
		return nil, &Unreadable{fingerprint(group[0]), fmt.Sprintf("it has more than %d packets", maxParts)}
	}
	known := slices.DeleteFunc(slices.Clone(group), func(p *packet.OpaquePacket) bool { return p.Tag == tagSignature && !parses(p) })
	known, subkeys := cut(known, tagSubkey)
	bare, userIDs := cut(known, tagUserID)
	last := errors.New("it has no user ID")
	base := bare
	for _, id := range userIDs[:min(len(userIDs), maxTried)] {
		if _, err := entity(bare, id); err != nil {
			last = err
			continue
		}
		base = slices.Concat(base, id)
	}
	key, err := entity(base)
	if err != nil {
		if len(base) == len(bare) && len(userIDs) > 0 {
			err = last
		}
		return nil, &Unreadable{fingerprint(group[0]), err.Error()}
	}
	for _, s := range subkeys[:min(len(subkeys), maxTried)] {
		if one, err := entity(base, s); err == nil {
			key.Subkeys = append(key.Subkeys, one.Subkeys...)
		}
	}
	return key, nil
}

// cut returns the packets before the first one with the tag, and a group for each of these.
func cut(packets []*packet.OpaquePacket, tag uint8) (before []*packet.OpaquePacket, groups [][]*packet.OpaquePacket) {
	at := slices.IndexFunc(packets, func(p *packet.OpaquePacket) bool { return p.Tag == tag })
	if at < 0 {
		return packets, nil
	}
	return packets[:at:at], split(packets[at:], tag)
}

func parses(p *packet.OpaquePacket) bool {
	_, err := p.Parse()
	return err == nil
}

func entity(parts ...[]*packet.OpaquePacket) (*openpgp.Entity, error) {
	var b bytes.Buffer
	for _, part := range parts {
		for _, p := range part {
			if err := p.Serialize(&b); err != nil {
				return nil, err
			}
		}
	}
	return openpgp.ReadEntity(packet.NewReader(&b))
}

func fingerprint(p *packet.OpaquePacket) string {
	parsed, err := p.Parse()
	if key, is := parsed.(*packet.PublicKey); err == nil && is {
		return fmt.Sprintf("%X", key.Fingerprint)
	}
	return ""
}

// Serialize writes the key without its private part. The same key gives the same bytes: the library writes the
// user IDs in the order of a map.
func Serialize(e *openpgp.Entity, w io.Writer) error {
	type part interface{ Serialize(io.Writer) error }
	parts := []part{e.PrimaryKey}
	add := func(signatures ...*packet.Signature) {
		for _, s := range signatures {
			parts = append(parts, s)
		}
	}
	add(e.Revocations...)
	add(e.Signatures...)
	for _, name := range slices.Sorted(maps.Keys(e.Identities)) {
		parts = append(parts, e.Identities[name].UserId)
		add(e.Identities[name].Signatures...)
	}
	for _, k := range e.Subkeys {
		parts = append(parts, k.PublicKey)
		add(k.Revocations...)
		add(k.Sig)
	}
	for _, p := range parts {
		if err := p.Serialize(w); err != nil {
			return err
		}
	}
	return nil
}

// Primary describes the primary key, with the hashes of all self-signatures that rpm checks at import:
// those of the user IDs and of the subkeys that sign.
func Primary(e *openpgp.Entity) cryptopolicy.Key {
	k := describe(e.PrimaryKey)
	newest, _ := e.PrimarySelfSignature()
	k.bind(e.PrimaryKey, newest, e.Revocations)
	for _, identity := range e.Identities {
		if s := identity.SelfSignature; s != nil && s != newest {
			k.Bindings = append(k.Bindings, s.Hash)
		}
	}
	for _, s := range e.Subkeys {
		if s.Sig != nil && s.Sig.FlagsValid && s.Sig.FlagSign {
			k.Bindings = append(k.Bindings, s.Sig.Hash)
		}
	}
	return k.Key
}

// signer describes a key or subkey with the times of its primary key.
func signer(of openpgp.Key) cryptopolicy.Key {
	k := describe(of.PublicKey)
	k.bind(of.PublicKey, of.SelfSignature, of.Revocations)
	if of.PublicKey == of.Entity.PrimaryKey {
		return k.Key
	}
	primary := Primary(of.Entity)
	k.Expires, k.Revoked = earlier(k.Expires, primary.Expires), earlier(k.Revoked, primary.Revoked)
	k.Compromised = k.Compromised || primary.Compromised
	return k.Key
}

// earlier returns the earlier time of two that may be zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

type described struct{ cryptopolicy.Key }

func describe(of *packet.PublicKey) *described {
	k := &described{cryptopolicy.Key{Version: of.Version, Algorithm: int(of.PubKeyAlgo), Created: of.CreationTime}}
	switch of.PubKeyAlgo {
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly, packet.PubKeyAlgoDSA:
		bits, _ := of.BitLength()
		k.Bits = int(bits)
	case packet.PubKeyAlgoECDSA:
		curve, _ := of.Curve()
		k.Curve = curveName(curve)
	}
	return k
}

// curveName returns sequoia's name of a curve; "" for an unknown one.
func curveName(c packet.Curve) string {
	switch c {
	case packet.CurveNistP256:
		return "nistp256"
	case packet.CurveNistP384:
		return "nistp384"
	case packet.CurveNistP521:
		return "nistp521"
	case packet.CurveBrainpoolP256:
		return "brainpoolp256"
	case packet.CurveBrainpoolP384:
		return "brainpoolp384"
	case packet.CurveBrainpoolP512:
		return "brainpoolp512"
	}
	return ""
}

// bind sets the fields that come from the newest self-signature and the revocations.
func (k *described) bind(of *packet.PublicKey, newest *packet.Signature, revocations []*packet.Signature) {
	if newest != nil {
		k.Bindings, k.Bound = []crypto.Hash{newest.Hash}, newest.CreationTime
		k.CannotSign = newest.FlagsValid && !newest.FlagSign
		if s := newest.KeyLifetimeSecs; s != nil && *s > 0 {
			k.Expires = of.CreationTime.Add(time.Duration(*s) * time.Second)
		}
	}
	for _, r := range revocations {
		k.Revoked = earlier(k.Revoked, r.CreationTime)
		k.Compromised = k.Compromised || !soft(r.RevocationReason)
	}
}

// soft reports whether signatures from before the revocation stay valid: the key was replaced or retired
// (RFC 9580, section 5.2.3.31).
func soft(reason *packet.ReasonForRevocation) bool {
	return reason != nil && (*reason == packet.KeySuperseded || *reason == packet.KeyRetired)
}
