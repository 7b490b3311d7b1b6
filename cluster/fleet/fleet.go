// Package fleet runs airgap on the other hosts of airgap.yaml through SSH.
package fleet

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/fleet/access"
	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/fleet/passwords"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/preflight/netprobe"
)

// Fleet has the other hosts of airgap.yaml, with an SSH connection to each.
type Fleet struct {
	console ui.Console
	site    *site.Site
	bundle  *bundle.Bundle
	skip    []string // preflight checks
	only    []string // preflight checks of --only; nil: all
	dialer  *remote.Dialer
	access  *access.Access
	note    string // the settings of airgap.yaml that a file of the site replaces
	Members []*Member
	jumps   jumpHosts
	// measured is the network before the installation; nil if it was not measured.
	measured *netprobe.Matrix
	// An interrupted upgrade or rollback may have left airgap running on a host, so these commands wait for it.
	// For other commands, a busy host is an error.
	awaitsBusy bool

	Policy   *Policy
	tolerant bool // as in Options

	source    passwords.Source // of airgap.yaml; nil if it has none
	guesses   *guesses
	asking    bool // questions to the user are permitted now
	lateAgain time.Duration
}

// Member is one other host. Only one goroutine uses it at a time.
type Member struct {
	Node   config.Node
	Joined bool // it is already a node
	host   remote.Host
	log    *log
	client *remote.Client // nil if not connected
	Err    error          // the failure of the last operation on this host

	codes  []jointoken.JoinToken // join tokens created for it, possibly unused
	unread *jointoken.JoinToken  // the last of them, if the busy host did not read it

	login, sudo credential
	wrong       int  // passwords that it refused
	over        bool // the login succeeded, or was given up
	confirmed   bool // the user confirmed its host key, and it was not tried since

	activity atomic.Pointer[activity] // nil if it does nothing
	long     *longRun                 // its last long command, if the result is not known
	silence  time.Duration            // without output, after which a long command is given up; 0: no limit
}

// Options are the options of the connections to the other hosts.
type Options struct {
	Console ui.Console // asks the user for passwords and host keys
	Skip    []string   // preflight checks
	NoSSH   bool
	Partial bool // Connect goes on without hosts that it cannot log in on
	Choice  choice.Choice
	// Choosable means that the command has the flags of Choice: errors name them as a way out.
	Choosable bool
	// AllControlPlanes means that the command cannot go on without a control-plane host: errors do not name --except for it.
	AllControlPlanes bool
	// Tolerant means that failed checks of nodes do not stop hosts that join.
	Tolerant bool
}

// Connect logs in on the other hosts. It returns nil if airgap does not use SSH: airgap.yaml has no section ssh or
// no other host, or the user gave --no-ssh.
func Connect(ctx context.Context, s *site.Site, b *bundle.Bundle, o Options) (*Fleet, error) {
	if o.NoSSH || !access.Used(ctx, s.Config) {
		return nil, nil
	}
	f, err := New(ctx, s, b, o)
	if err == nil {
		if f.note != "" {
			o.Console.Progress().Say("%s", f.note)
		}
		err = f.Connect(ctx)
		if o.Partial && ctx.Err() == nil && f.loggedIn() {
			err = nil
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// loggedIn reports whether each host has a connection or an error.
func (f *Fleet) loggedIn() bool {
	return !slices.ContainsFunc(f.Members, func(m *Member) bool { return m.client == nil && m.Err == nil })
}

// New returns the other hosts without connecting to them.
func New(ctx context.Context, s *site.Site, b *bundle.Bundle, o Options) (*Fleet, error) {
	c, note, err := access.Apply(ctx, s.Config, s.Nodes)
	if err != nil {
		return &Fleet{}, err
	}
	s = s.Reaching(c)
	policy, others, err := newPolicy(s, o)
	if err != nil {
		return &Fleet{}, err
	}
	a, err := access.Open(c)
	if err != nil {
		return &Fleet{}, err
	}
	logins, err := a.Logins(others)
	if err != nil {
		return &Fleet{}, err
	}
	source, err := passwords.Open(a.Expand(c.SSH.PasswordFile), c.SSH.PasswordCommand, append(nodeNames(s.Nodes), access.JumpNames(logins)...))
	if err != nil {
		return &Fleet{}, err
	}
	f := &Fleet{
		console: o.Console, site: s, bundle: b, skip: o.Skip, source: source, guesses: newGuesses(), lateAgain: lateAgain,
		Policy: policy, tolerant: o.Tolerant, access: a, note: note, dialer: a.Dialer,
	}
	policy.fleet, f.dialer.Doing = f, noteWaits(f)
	for i, n := range others {
		if _, err := f.add(n, logins[i]); err != nil {
			return f, err
		}
	}
	return f, nil
}

// nodeNames are the names of all nodes of airgap.yaml, also of removed ones: their passwords may stay in the file.
func nodeNames(nodes []config.Node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return all
}

// add adds a host and opens its log.
func (f *Fleet) add(n config.Node, l access.Login) (*Member, error) {
	log, err := openLog(n.Name)
	if err != nil {
		return nil, err
	}
	m := &Member{Node: n, host: l.Host, log: log, silence: f.site.Config.SSH.Silence()}
	f.Members = append(f.Members, m)
	m.noteSettings(append(l.Notes, f.note)...)
	return m, f.jumps.add(l.Via)
}

// MemberFor returns the host of a node. It adds the host if necessary.
func (f *Fleet) MemberFor(n config.Node) (*Member, error) {
	for _, m := range f.Members {
		if m.Node.Name == n.Name {
			return m, nil
		}
	}
	l, err := f.access.Login(n)
	if err != nil {
		return nil, err
	}
	return f.add(n, l)
}

// Close closes the connections and logs. f can be nil.
func (f *Fleet) Close() error {
	if f == nil {
		return nil
	}
	var errs []error
	for _, m := range slices.Concat(f.Members, f.jumps) {
		m.hangUp()
		errs = append(errs, m.log.Close())
	}
	if f.dialer != nil {
		f.dialer.Close()
	}
	return errors.Join(errs...)
}

// AwaitBusy makes f wait for hosts that another airgap command is changing. f can be nil.
func (f *Fleet) AwaitBusy() {
	if f != nil {
		f.awaitsBusy = true
	}
}

// hangUp closes the connection if there is one.
func (m *Member) hangUp() {
	if m.client != nil {
		m.client.Close()
		m.client = nil
	}
}

// Each calls do for each host, for as many hosts at a time as airgap.yaml allows. It sets Err of each host. A
// failure does not stop the other hosts.
func (f *Fleet) Each(ctx context.Context, members []*Member, do func(context.Context, *Member) error) {
	var g errgroup.Group
	g.SetLimit(f.site.Config.SSH.Parallel)
	for _, m := range members {
		g.Go(func() error {
			if m.Err = ctx.Err(); m.Err == nil {
				m.Err = do(ctx, m)
			}
			return nil
		})
	}
	_ = g.Wait() // each host has its own error
}

// Problems returns one error with the failures of all hosts, or nil. what is the summary, next the hint.
func (f *Fleet) Problems(ctx context.Context, what, next string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var all []*Member
	for _, m := range f.Members {
		if m.Err != nil {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return advice.Add(errors.New(problems(all, len(f.Members), what, f.jumps.problems(f.Members)...)), "%s", next)
}
