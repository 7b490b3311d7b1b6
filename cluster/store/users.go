package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

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
		return removeUser(users, o.Name)
	}
	password, err := o.Console.Ask(ctx, "Password for "+o.Name+": ", true)
	if err != nil && !errors.Is(err, io.EOF) {
		return Pusher{}, err
	}
	err = users.Set(o.Name, strings.TrimRight(password, "\r\n"), o.Prefixes...)
	return Pusher{User: o.Name, Prefixes: o.Prefixes}, err
}

func removeUser(users registry.Users, name string) (Pusher, error) {
	removed, err := users.Remove(name)
	if err != nil {
		return Pusher{}, err
	}
	if !removed {
		names, _ := users.Names()
		slices.Sort(names)
		return Pusher{}, advice.Add(fmt.Errorf("%s is no user of this registry", name), "users are: %s", strings.Join(names, ", "))
	}
	return Pusher{User: name, Removed: true}, nil
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
