package cryptopolicy

import (
	"crypto"
	"time"
)

// sequoiaKey judges a key with the settings of rpm-sequoia.
func (p Policy) sequoiaKey(k Key) Answer {
	return p.first("a key with "+k.String(), append(sequoiaNames(k), keyTable+defaultSetting)...)
}

// sequoiaHash judges the hash of a signature. A signature over a package needs the resistance against
// collisions. A self-signature is judged in the same way, because the files of crypto-policies have the
// same value for both kinds.
func (p Policy) sequoiaHash(h crypto.Hash, what string) Answer {
	name := hashName(h)
	return p.first(what+" over "+h.String(), name+".collision_resistance", name, hashTable+defaultSetting)
}

// first judges by the first setting that exists.
func (p Policy) first(what string, names ...string) Answer {
	settings := p.Sequoia
	if len(settings) == 0 {
		settings = p.builtIn()
	}
	for _, name := range names {
		if value, is := settings[name]; is {
			return p.judge(value, what)
		}
	}
	return p.unsureOfPolicy(what)
}

// judge reads a value of sequoia's file: always, never, or the date from which on it is never.
func (p Policy) judge(value, what string) Answer {
	switch value {
	case "always":
		return Answer{}
	case "never":
		return refused("%s refuses %s", p, what)
	}
	if until, err := time.Parse(time.DateOnly, value[:min(len(value), len(time.DateOnly))]); err == nil {
		return unsure("%s refuses %s from %s on", p, what, until.Format(time.DateOnly))
	}
	return p.unsureOfPolicy(what)
}

// sequoiaNames returns the settings of a key (sequoia_policy_config; crypto-policies, sequoia.py). RSA and
// DSA are in steps: a key of 3000 bits is "rsa2048". Old files have no "eddsa", and "ed25519" for both.
func sequoiaNames(k Key) []string {
	switch k.Algorithm {
	case rsa, rsaSign:
		return []string{step("rsa", k.Bits)}
	case dsa:
		return []string{step("dsa", k.Bits)}
	case ecdsa:
		return []string{k.Curve}
	case eddsa:
		return []string{"eddsa", "ed25519"}
	case ed25519:
		return []string{"ed25519"}
	case ed448:
		return []string{"ed448"}
	case mldsa65:
		return []string{"mldsa65-ed25519"}
	case mldsa87:
		return []string{"mldsa87-ed448"}
	}
	return nil
}

func step(name string, bits int) string {
	switch {
	case bits < 2048:
		return name + "1024"
	case bits < 3072:
		return name + "2048"
	case bits < 4096:
		return name + "3072"
	}
	return name + "4096"
}

// builtIn has the settings of Red Hat's policies for a server whose file is unknown (RHEL 10, Security
// hardening, "Predefined cryptographic policies": RSA from 2048 bits, from 3072 bits in FUTURE; SHA-1
// signatures only in LEGACY; SHA-224 not in FUTURE). It leaves out what this page does not tell, such as
// ML-DSA. Without a survey, it refuses DSA and SHA-1: the server's own file can permit them.
func (p Policy) builtIn() map[string]string {
	if !p.plain() {
		return nil
	}
	all := map[string]string{
		"rsa1024": "never", "rsa2048": "always", "rsa3072": "always", "rsa4096": "always",
		"dsa1024": "never", "dsa2048": "never", "dsa3072": "never", "dsa4096": "never",
		"sha1": "never", "sha224": "always", "sha256": "always", "sha384": "always", "sha512": "always",
		"nistp256": "always", "nistp384": "always", "nistp521": "always",
		"eddsa": "always", "ed25519": "always", "ed448": "always",
	}
	switch base, _ := p.base(); base {
	case "LEGACY":
		all["sha1"] = "always"
		for _, unknown := range []string{"dsa1024", "dsa2048", "dsa3072", "dsa4096"} {
			delete(all, unknown)
		}
	case "FUTURE":
		all["rsa2048"], all["sha224"] = "never", "never"
	case "FIPS":
		for _, unknown := range []string{"eddsa", "ed25519", "ed448"} {
			delete(all, unknown)
		}
	}
	return all
}
