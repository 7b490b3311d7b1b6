// Package cryptopolicy tells which OpenPGP keys and signatures rpm accepts on a server of Enterprise
// Linux: by its release, its system-wide crypto policy and FIPS mode.
//
// Surveyed has the lines of the server's files that decide. Policy judges keys and signatures with
// them; it reads nothing. Where the lines are missing or unknown, the answer is Unsure, and the test
// of preflight on the server decides.
package cryptopolicy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
)

// Policy is the crypto policy of one server, or of servers without a survey if only OS is set.
type Policy struct {
	Surveyed

	OS      string // el8, el9, el10
	Version string // VERSION_ID of the server: "10.1"; "" if it is unknown
	FIPS    bool   // the kernel is in FIPS mode
}

// Outcome is the kind of an Answer.
type Outcome int

// The outcomes, the worst last.
const (
	Accepted Outcome = iota
	Unsure
	Refused
)

// Answer is the outcome for a key or a signature. Reason is a part of a sentence; "" if it is accepted.
type Answer struct {
	Outcome Outcome
	Reason  string
}

func refused(format string, args ...any) Answer { return Answer{Refused, fmt.Sprintf(format, args...)} }
func unsure(format string, args ...any) Answer  { return Answer{Unsure, fmt.Sprintf(format, args...)} }

// worst returns the answer with the worst outcome, the first one of equal answers.
func worst(answers ...Answer) Answer {
	return slices.MaxFunc(answers, func(a, b Answer) int { return cmp.Compare(a.Outcome, b.Outcome) })
}

// String names the policy for people: "the crypto policy DEFAULT of EL 9, in FIPS mode".
func (p Policy) String() string {
	text := "the crypto policy of " + p.release()
	if p.Name != "" {
		text = "the crypto policy " + p.Name + " of " + p.release()
	}
	if p.FIPS {
		text += ", in FIPS mode"
	}
	return text
}

func (p Policy) release() string {
	return "EL " + cmp.Or(p.Version, enterprise.Of(p.OS).Major())
}

// base returns the policy without its modules, and the modules. A server in FIPS mode without the name
// of its policy has FIPS, any other server without the name has DEFAULT.
func (p Policy) base() (string, []string) {
	name := p.Name
	switch {
	case name != "":
	case p.FIPS:
		name = "FIPS"
	default:
		name = "DEFAULT"
	}
	parts := strings.Split(name, ":")
	return parts[0], parts[1:]
}

// ofHashes lists the modules of Red Hat's packages that do not change the hashes and keys for
// signatures of packages (RHEL 9, Security hardening, "Customizing system-wide cryptographic policies").
// FIPS:OSPP permits fewer ciphers and curves, and RSA from 2048 bits as FIPS.
func ofHashes() []string {
	return []string{"AD-SUPPORT", "AD-SUPPORT-LEGACY", "ECDHE-ONLY", "NO-CAMELLIA", "NO-ENFORCE-EMS", "NO-SHA1", "OSPP", "PQ"}
}

// plain reports whether the policy is one of Red Hat's, and its modules do not matter for packages.
func (p Policy) plain() bool {
	base, modules := p.base()
	unknown := func(m string) bool { return !slices.Contains(ofHashes(), m) }
	return slices.Contains([]string{"DEFAULT", "LEGACY", "FUTURE", "FIPS"}, base) && !slices.ContainsFunc(modules, unknown)
}

// unsureOfPolicy is the answer if neither the survey nor a policy of Red Hat decides.
func (p Policy) unsureOfPolicy(what string) Answer {
	return unsure("airgap cannot tell whether %s permits %s", p, what)
}
