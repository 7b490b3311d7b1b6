package fleet

import (
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
//   - A host gets at most maxWrong wrong passwords in one run.
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
	tried     bool // by a host in this round
}

type value struct {
	account
	text string
}

type originOf struct {
	account
	origin
}

// agreement is the answer of the user about the hosts of an account.
type agreement int

const (
	undecided agreement = iota
	same                // one password for all
	each                // one for each host
)

// group is the hosts of an account whose password is typed.
type group struct {
	first     *Member // which gets the first typed password
	text      string  // the typed password that first accepted
	refused   bool    // first refused a typed password
	agreement agreement
	broken    bool // a host refused the shared password
}

// guesses has the results of all passwords. Goroutines of several hosts note results.
type guesses struct {
	mu      sync.Mutex
	values  map[value]*outcome
	origins map[originOf]*outcome
	groups  map[account]*group
}

func newGuesses() *guesses {
	return &guesses{values: map[value]*outcome{}, origins: map[originOf]*outcome{}, groups: map[account]*group{}}
}

// account returns the account of a login. PSM for SSH has a user for each host: USER@TARGETUSER@TARGET. They are one
// account, as is a user with a domain behind it.
func (m *Member) account(kind passwords.Kind) account {
	user, _, _ := strings.Cut(m.host.User, "@")
	return account{user, kind}
}

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
// because by refused.
func (g *guesses) reserve(m *Member, kind passwords.Kind) (now, later bool, by []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.outcomes(m, kind)
	if slices.Contains(all[0].refusedBy, m.Node.Name) {
		return false, false, []string{m.Node.Name}
	}
	most := []int{1, m.credential(kind).origin.mostRefusals()}
	for i, o := range all {
		if !o.accepted && len(o.refusedBy) >= most[i] {
			return false, false, o.refusedBy
		}
	}
	for _, o := range all {
		if !o.accepted && o.tried {
			return false, true, nil
		}
	}
	for _, o := range all {
		o.tried = true
	}
	return true, false, nil
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
