package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// UserOptions adds or removes a user who can push to this host's registry.
type UserOptions struct {
	Name     string
	File     string   // htpasswd file
	Prefixes []string // beginnings of the names that the user may push to; nil leaves them as they are
	Remove   bool     // take the user out
	Console  ui.Console
}

// Pusher is an added or removed user.
type Pusher struct {
	User     string   `json:"user"`
	Removed  bool     `json:"removed"`
	Prefixes []string `json:"prefixes,omitempty"` // as given now
}

// SetUser asks for a password and lets the user push with it, or takes the user out.
func SetUser(ctx context.Context, o UserOptions) (Pusher, error) {
	users := registry.Users{File: o.File}
	if o.File == site.UsersFile {
		if err := site.MustBeInstalled("registry passwd"); err != nil {
			return Pusher{}, err
		}
		users.Group = site.ServiceGroup
	}
	if o.Remove {
		return removed(users, o)
	}
	password, err := o.Console.Ask(ctx, "Password for "+o.Name+": ", true)
	if err != nil && !errors.Is(err, io.EOF) {
		return Pusher{}, err
	}
	err = o.act("Let "+o.Name+" push to the registry", func() error {
		return users.Set(o.Name, strings.TrimRight(password, "\r\n"), o.Prefixes...)
	}, o.Prefixes...)
	return Pusher{User: o.Name, Prefixes: o.Prefixes}, err
}

// act records a change of this host's own users in the journal.
func (o UserOptions) act(title string, do func() error, changes ...string) error {
	if o.File != site.UsersFile {
		return do()
	}
	return journal.Act("registry-user", title, do, changes...)
}

// removed removes the user.
func removed(users registry.Users, o UserOptions) (Pusher, error) {
	names, err := users.Names()
	if err != nil {
		return Pusher{}, err
	}
	if !slices.Contains(names, o.Name) {
		slices.Sort(names)
		return Pusher{}, advice.Add(fmt.Errorf("%s is no user of this registry", o.Name), "users are: %s", strings.Join(names, ", "))
	}
	err = o.act("Remove "+o.Name+" from the users of the registry", func() error { _, err := users.Remove(o.Name); return err })
	return Pusher{User: o.Name, Removed: err == nil}, err
}

// Write says it in one line.
func (p Pusher) Write(w io.Writer) error {
	if p.Removed {
		_, err := fmt.Fprintf(w, "%s may no longer push\n", p.User)
		return err
	}
	below := ""
	if all := strings.Join(p.Prefixes, ", "); all != "" {
		below = ", below " + all
	}
	_, err := fmt.Fprintf(w, "%s may push to this host's registry%s\n", p.User, below)
	return err
}

// Renewal is the result for the registry's certificate.
type Renewal struct {
	Renewed bool      `json:"renewed"`
	Ends    time.Time `json:"ends"` // of the current certificate
}

// RenewCertificate issues the certificate of this host's registry again, where it ends within 30
// days; the directory pki has it, and the authority.
func RenewCertificate(pki string) (Renewal, error) {
	if pki == site.PKIDir {
		if err := site.MustBeInstalled("registry renew"); err != nil {
			return Renewal{}, err
		}
	}
	renewed, ends, err := trust.PKI{Dir: pki, Group: site.ServiceGroup}.Renew(time.Now())
	if renewed && err == nil && pki == site.PKIDir { // one write, which is complete now
		err = journal.Act("renew-certificates", "Renew the certificate of the registry", func() error { return nil })
	}
	return Renewal{renewed, ends}, err
}

// Write says it in one line.
func (r Renewal) Write(w io.Writer) error {
	what := "is"
	if r.Renewed {
		what = "was renewed and is"
	}
	_, err := fmt.Fprintf(w, "the registry's certificate %s good until %s\n", what, r.Ends.Format(time.DateOnly))
	return err
}
