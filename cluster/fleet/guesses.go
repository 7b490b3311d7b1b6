package fleet

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"airgap.dev/airgap/cluster/fleet/passwords"
)

// Hosts and directories lock an account after a few wrong passwords, so passwords are tried with care:
//   - A password goes to one host alone until a host has accepted it. One that a host refused, and none accepted, goes
//     to no other host of the same user.
//   - A typed password goes to other hosts only if the user confirms that it is the same there. The first refusal
//     ends that.
//   - The passwords of a file or a command go to one host at a time until one is accepted, and to no other host after
//     two refusals.
//   - A host that gets a password and does not answer may count it as wrong: it ends the connection or hangs. One other
//     host may get the password then; none, if the account is locked.
//   - A host gets at most maxWrong wrong passwords in one run.
//   - A host that boots refuses right passwords while its directory of users is down, so a password that it accepted
//     before in this run is tried once more after a pause (late.go).
const maxWrong = 2

// origin is where a guess comes from.
type origin int

const (
	typed      origin = iota // for this host
	shared                   // typed for another host, which accepted it
	configured               // from the file or the command of airgap.yaml
	ownLogin                 // the login password of this host, for sudo
)

// mostRefusals are the hosts that may refuse passwords of an origin before one accepts: then its passwords are out of date,
// or sudo asks for another password.
func (o origin) mostRefusals() int {
	if o == ownLogin {
		return 1
	}
	return 2
}

// guess is a password that a host has not accepted yet, or has accepted.
type guess struct {
	text     string
	origin   origin
	from     string // the line or the command; "" if it was typed
	accepted bool
}

// credential is the password of a host for one use.
type credential struct {
	guess

	found   passwords.Password // in the source of airgap.yaml
	failed  error              // of the source
	sought  bool               // the source was asked
	refused map[origin]bool
	asked   int // how often the user was asked
}

// account is a user name on the hosts. It may be one account of a directory.
type account struct {
	user string
	kind passwords.Kind
}

// outcome has the answers of hosts to a password, or to the passwords of an origin.
type outcome struct {
	accepted  bool
	refusedBy []string
	silentBy  []string // hosts that did not answer
	tried     bool     // by a host in this round
}

// over reports whether no other host may try: a refusal counts twice as much as no answer.
func (o *outcome) over(refusals int) bool {
	return !o.accepted && 2*len(o.refusedBy)+len(o.silentBy) >= 2*refusals
}

// by names the hosts that did not accept.
func (o *outcome) by() string {
	if len(o.silentBy) == 0 {
		return strings.Join(o.refusedBy, " and ") + " refused"
	}
	return strings.Join(append(slices.Clone(o.refusedBy), o.silentBy...), " and ") + " did not accept"
}

type value struct {
	account
	text string
}

type originOf struct {
	account
	origin
}

// agreement is the answer of the user about the password of a host.
type agreement int

const (
	undecided agreement = iota
	same                // the typed one
	each                // its own
)

// group is the hosts of an account whose password is typed.
type group struct {
	first   *Member // which gets the first typed password
	text    string  // the typed password that first accepted
	refused bool    // first refused a typed password
	agreed  map[*Member]agreement
	later   agreement // for hosts that ask later
	broken  bool      // a host refused the shared password
}

// password returns the password of a host, as far as the user has said.
func (g *group) password(m *Member) agreement {
	if g.broken {
		return each
	}
	return cmp.Or(g.agreed[m], g.later)
}

// guesses has the results of all passwords. Goroutines of several hosts note results.
type guesses struct {
	mu      sync.Mutex
	values  map[value]*outcome
	origins map[originOf]*outcome
	groups  map[account]*group
	late    map[value]int // refusals of a password after its host accepted it, until a host accepts it again
}

func newGuesses() *guesses {
	return &guesses{values: map[value]*outcome{}, origins: map[originOf]*outcome{}, groups: map[account]*group{}, late: map[value]int{}}
}

func (m *Member) account(kind passwords.Kind) account { return account{m.host.User, kind} }

func (m *Member) credential(kind passwords.Kind) *credential {
	if kind == passwords.Sudo {
		return &m.sudo
	}
	return &m.login
}

func of[K comparable, V any](all map[K]*V, key K) *V {
	if all[key] == nil {
		all[key] = new(V)
	}
	return all[key]
}

// outcomes returns the results of a host's guess: of the same password on all hosts, and of its origin.
func (g *guesses) outcomes(m *Member, kind passwords.Kind) []*outcome {
	c := m.credential(kind)
	all := []*outcome{of(g.values, value{m.account(kind), c.text})}
	switch c.origin {
	case configured:
		all = append(all, of(g.origins, originOf{account{kind: kind}, configured})) // of all users
	case ownLogin:
		all = append(all, of(g.origins, originOf{m.account(kind), ownLogin}))
	case typed, shared:
	}
	return all
}

// newRound forgets which hosts tried a password: all of them have a result.
func (g *guesses) newRound() {
	for _, o := range g.values {
		o.tried = false
	}
	for _, o := range g.origins {
		o.tried = false
	}
}

// reserve reports whether a host may try its guess now, or waits for the result of another host. Neither means never,
// because of by: "node2 refused".
func (g *guesses) reserve(m *Member, kind passwords.Kind) (now, later bool, by string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.outcomes(m, kind)
	for verb, hosts := range map[string][]string{" refused": all[0].refusedBy, " did not accept": all[0].silentBy} {
		if slices.Contains(hosts, m.Node.Name) {
			return false, false, m.Node.Name + verb
		}
	}
	most := []int{1, m.credential(kind).origin.mostRefusals()}
	for i, o := range all {
		if o.over(most[i]) {
			return false, false, o.by()
		}
	}
	for _, o := range all {
		if !o.accepted && o.tried {
			return false, true, ""
		}
	}
	for _, o := range all {
		o.tried = true
	}
	return true, false, ""
}

// note records that a host accepted its guess, or else refused it.
func (g *guesses) note(m *Member, kind passwords.Kind, accepted bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := m.credential(kind)
	for _, o := range g.outcomes(m, kind) {
		o.accepted = o.accepted || accepted
		if !accepted && !slices.Contains(o.refusedBy, m.Node.Name) {
			o.refusedBy = append(o.refusedBy, m.Node.Name)
		}
	}
	all := of(g.groups, m.account(kind))
	if accepted {
		c.accepted = true
		delete(g.late, value{m.account(kind), c.text})
		if c.origin == typed && all.first == m {
			all.text = c.text
		}
		return
	}
	m.wrong++
	if c.refused == nil {
		c.refused = map[origin]bool{}
	}
	c.refused[c.origin] = true
	all.broken = all.broken || c.origin == shared
	all.refused = all.refused || c.origin == typed && all.first == m
	c.guess = guess{} // it does not go to this host again
}

// unanswered records that a host got its guess and did not answer.
func (g *guesses) unanswered(m *Member, kind passwords.Kind, locked bool) {
	if locked {
		g.note(m, kind, false)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range g.outcomes(m, kind) {
		if !slices.Contains(o.silentBy, m.Node.Name) {
			o.silentBy = append(o.silentBy, m.Node.Name)
		}
	}
	m.wrong++
	m.credential(kind).guess = guess{}
}

// revoked reports whether a host's guess is the shared password that another host has refused meanwhile. The host then
// needs its own.
func (g *guesses) revoked(m *Member, kind passwords.Kind) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := m.credential(kind)
	if c.origin != shared || c.text == "" || c.accepted || !of(g.groups, m.account(kind)).broken {
		return false
	}
	c.guess = guess{}
	return true
}

// refusedAsSudo reports whether hosts of this user refuse the login password for sudo.
func (g *guesses) refusedAsSudo(m *Member) bool {
	o := of(g.origins, originOf{m.account(passwords.Sudo), ownLogin})
	return !o.accepted && len(o.refusedBy) >= ownLogin.mostRefusals()
}
