// Package fleet works on the other hosts of airgap.yaml through SSH.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/joincode"
)

// Fleet is the other hosts of airgap.yaml, as airgap install on the first one
// works on them through SSH.
type Fleet struct {
	console ui.Console
	site    *site.Site
	bundle  *bundle.Bundle
	skip    []string // preflight checks
	only    []string // those of airgap preflight --only; nil: all
	dialer  *remote.Dialer
	Members []*Member
	// An upgrade or a rollback that was interrupted may have left airgap at work on a host:
	// they wait for that. To all else a host that is busy is somebody else's concern.
	awaitsBusy bool

	// Typed once, and tried on every host that wants one.
	password, sudoPassword string
}

// Member is one other host. One goroutine at a time works on it.
type Member struct {
	Node   config.Node
	Joined bool // it is a node already
	host   remote.Host
	log    *log
	client *remote.Client // nil while there is no connection
	Err    error          // what keeps it from being worked on

	codes  []joincode.Code // made for it, and not known to have been used
	unread *joincode.Code  // the last of them, when the host was too busy to read it

	password, sudoPassword string
	refused                map[string]bool // passwords that it did not take
	asked                  int             // how often somebody was asked for one
}

// Options say how the other hosts are reached.
type Options struct {
	Console ui.Console // where a person is asked for passwords and host keys
	Skip    []string   // preflight checks
	NoSSH   bool
}

// Connect logs in on the other hosts. It gives nil when they are not ours
// to do: airgap.yaml has no section ssh, or no other host, or --no-ssh was given.
func Connect(ctx context.Context, s *site.Site, b *bundle.Bundle, o Options) (*Fleet, error) {
	if s.Config.SSH == nil || len(s.Config.Nodes) == 1 || o.NoSSH {
		return nil, nil
	}
	f, err := New(s, b, o)
	if err == nil {
		err = f.Connect(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// New lists the other hosts, without saying a word to them.
func New(s *site.Site, b *bundle.Bundle, o Options) (*Fleet, error) {
	c, h := s.Config, homes()
	f := &Fleet{console: o.Console, site: s, bundle: b, skip: o.Skip, dialer: &remote.Dialer{
		Keys:  &remote.Keys{Socket: os.Getenv("SSH_AUTH_SOCK")},
		Known: &remote.KnownHosts{Files: []string{"/etc/ssh/ssh_known_hosts"}, Own: site.KnownHostsFile},
	}}
	for _, home := range h {
		f.dialer.Keys.Defaults = append(f.dialer.Keys.Defaults, remote.DefaultKeys(home)...)
		f.dialer.Known.Files = append(f.dialer.Known.Files, filepath.Join(home, ".ssh/known_hosts"))
	}
	for _, file := range c.SSH.KnownHosts {
		f.dialer.Known.Files = append(f.dialer.Known.Files, expand(file, h))
	}
	for _, n := range c.Nodes {
		if n.Name == s.Node.Name {
			continue
		}
		if _, err := f.add(n); err != nil {
			return f, err
		}
	}
	return f, nil
}

// add takes one more host in.
func (f *Fleet) add(n config.Node) (*Member, error) {
	log, err := openLog(n.Name)
	if err != nil {
		return nil, err
	}
	m := &Member{Node: n, host: f.site.Config.Remote(n), log: log, refused: map[string]bool{}}
	m.host.IdentityFile = expand(m.host.IdentityFile, homes())
	f.Members = append(f.Members, m)
	return m, nil
}

// MemberFor is the host of a node, taken in if it is not there yet.
func (f *Fleet) MemberFor(n config.Node) (*Member, error) {
	for _, m := range f.Members {
		if m.Node.Name == n.Name {
			return m, nil
		}
	}
	return f.add(n)
}

// Close ends the connections. A fleet that is nil has none.
func (f *Fleet) Close() error {
	if f == nil {
		return nil
	}
	var errs []error
	for _, m := range f.Members {
		m.hangUp()
		errs = append(errs, m.log.Close())
	}
	return errors.Join(errs...)
}

// AwaitBusy makes it wait for hosts that another command is changing.
func (f *Fleet) AwaitBusy() {
	if f != nil {
		f.awaitsBusy = true
	}
}

// hangUp ends the connection, if there is one.
func (m *Member) hangUp() {
	if m.client != nil {
		m.client.Close()
		m.client = nil
	}
}

// Each works on several hosts at a time, as many as airgap.yaml allows. What
// goes wrong on one stands in its err, and does not keep the others.
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

// names are those of the hosts, for people.
func (f *Fleet) names() string {
	var all []string
	for _, m := range f.Members {
		all = append(all, m.Node.Name)
	}
	return strings.Join(all, ", ")
}

// Problems is what keeps hosts from being worked on, all of it at once.
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
	lines := []string{fmt.Sprintf("%d of %s: %s", len(all), ui.Count(len(f.Members), "other host"), what)}
	for _, m := range all {
		lines = append(lines, m.problem())
	}
	return advice.Add(errors.New(strings.Join(lines, "\n")), "%s", next)
}

// problem is a host's error with its advice, indented below the host's name.
func (m *Member) problem() string {
	text := "  " + m.Node.Name + ": " + m.Err.Error()
	if next := advice.Of(m.Err); next != "" {
		text += "\nhint: " + next
	}
	return strings.ReplaceAll(text, "\n", "\n    ")
}

// homes are the home directories whose keys and known hosts count: of whoever
// called sudo, and root's.
func homes() []string {
	var all []string
	if name := os.Getenv("SUDO_USER"); name != "" && name != "root" {
		if u, err := user.Lookup(name); err == nil {
			all = append(all, u.HomeDir)
		}
	}
	if u, err := user.Current(); err == nil {
		all = append(all, u.HomeDir)
	}
	return all
}

// expand puts a home directory in place of ~: the first that has the file.
func expand(file string, homes []string) string {
	rest, inHome := strings.CutPrefix(file, "~/")
	if !inHome || len(homes) == 0 {
		return file
	}
	for _, home := range homes {
		if path := filepath.Join(home, rest); site.Exists(path) {
			return path
		}
	}
	return filepath.Join(homes[0], rest)
}
