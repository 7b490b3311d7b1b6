package rpm

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/bundle/rpm/pgp"
	"airgap.dev/airgap/internal/cryptopolicy"
	"airgap.dev/airgap/internal/enterprise"
)

// target is a crypto policy, and the servers with it; none if no server was surveyed.
type target struct {
	policy cryptopolicy.Policy
	hosts  []string
}

type targets []target

// targets returns the crypto policies of the servers. A server without a survey has the default policy of its
// release.
func (req Request) targets() targets {
	var all targets
	add := func(p cryptopolicy.Policy, hosts ...string) {
		for i := range all {
			if reflect.DeepEqual(all[i].policy, p) {
				all[i].hosts = append(all[i].hosts, hosts...)
				return
			}
		}
		all = append(all, target{p, hosts})
	}
	for _, h := range req.Hosts {
		p := h.Policy
		if p.OS == "" {
			p.OS = req.OS
		}
		add(p, h.Host)
	}
	if len(req.Assumed) > 0 || len(req.Hosts) == 0 {
		add(cryptopolicy.Policy{OS: req.OS}, req.Assumed...)
	}
	return all
}

// of returns the targets with one of the hosts; all if hosts is nil.
func (all targets) of(hosts []string) targets {
	if hosts == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(t target) bool {
		return len(t.hosts) > 0 && !slices.ContainsFunc(t.hosts, func(h string) bool { return slices.Contains(hosts, h) })
	})
}

// orAny returns the targets, or the most tolerant rpm if there is none: keys without a plan, as in a test.
func (all targets) orAny() targets {
	if len(all) > 0 {
		return all
	}
	return targets{{policy: cryptopolicy.Policy{OS: enterprise.Releases()[0].OS}}}
}

// on names the servers in a sentence: "rpm of w1, w2".
func (t target) on() string {
	const most = 3
	switch n := len(t.hosts); {
	case n == 0:
		return "rpm of the servers"
	case n > most:
		return fmt.Sprintf("rpm of %s and %d more servers", strings.Join(t.hosts[:most], ", "), n-most)
	}
	return "rpm of " + strings.Join(t.hosts, ", ")
}

func (t target) says(a cryptopolicy.Answer) string {
	if a.Outcome == cryptopolicy.Unsure {
		return t.on() + " may refuse it: " + a.Reason
	}
	return t.on() + " refuses it: " + a.Reason
}

// key returns the worst outcome for a primary key, with the reason.
func (all targets) key(k cryptopolicy.Key) (reason string, outcome cryptopolicy.Outcome) {
	for _, t := range all.orAny() {
		if a := t.policy.Key(k); a.Outcome > outcome {
			reason, outcome = t.says(a), a.Outcome
		}
	}
	return reason, outcome
}

// accepts returns the best answer of one target for several valid signatures.
func (t target) accepts(made []pgp.Made, now time.Time) cryptopolicy.Answer {
	var best cryptopolicy.Answer
	for i, m := range made {
		a := t.policy.Signature(m.Signature, m.Signer, now)
		if key := t.policy.Key(m.Primary); key.Outcome > a.Outcome {
			a = key
		}
		if i == 0 || a.Outcome < best.Outcome {
			best = a
		}
	}
	return best
}

// any returns an error if every target refuses the signatures.
func (all targets) any(made []pgp.Made, now time.Time) error {
	var refusal string
	for _, t := range all.orAny() {
		a := t.accepts(made, now)
		if a.Outcome != cryptopolicy.Refused {
			return nil
		}
		refusal = t.says(a)
	}
	return errors.New(refusal)
}
