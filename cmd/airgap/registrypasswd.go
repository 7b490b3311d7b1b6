package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/registry"
)

// pusher is the result of registry passwd.
type pusher struct {
	User    string `json:"user"`
	Removed bool   `json:"removed"`
}

func (a *app) registryPasswd() *cobra.Command {
	var users registry.Users
	var remove bool
	cmd := &cobra.Command{
		Use:   "passwd USER",
		Short: "Let somebody push to this host's registry, or no longer",
		Long: `Lets USER push images of the site's own to this host's registry, with a password
that is asked for, or read as one line from standard input. Everybody may pull.
Names that a bundle brought cannot be pushed over. Clients have to trust the
registry's authority, ` + registry.PKI{Dir: pkiDir}.CAFile() + `; podman and skopeo look for
it in /etc/containers/certs.d/SERVER:5000/.

The password is kept as a bcrypt hash in ` + usersFile + `. It
counts at once, on this host: each control-plane host has its own users. With
--remove the user's tokens end within five minutes.`,
		Example: "  airgap registry passwd ci\n  podman login SERVER:5000 --username ci\n  podman push SERVER:5000/team/app:1",
		Args:    oneArg("the user's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if users.File == usersFile {
				users.Group = serviceGroup
			}
			if remove {
				return a.removeUser(users, name)
			}
			password, err := a.ask(cmd.Context(), "Password for "+name+": ", true)
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if err := users.Set(name, strings.TrimRight(password, "\r\n")); err != nil {
				return err
			}
			return a.print(pusher{User: name}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s may push to this host's registry\n", name)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&users.File, "users", usersFile, "htpasswd file")
	cmd.Flags().BoolVar(&remove, "remove", false, "take the user out")
	return cmd
}

func (a *app) removeUser(users registry.Users, name string) error {
	removed, err := users.Remove(name)
	if err != nil {
		return err
	}
	if !removed {
		names, _ := users.Names()
		slices.Sort(names)
		return hint(fmt.Errorf("%s is no user of this registry", name), "users are: %s", strings.Join(names, ", "))
	}
	return a.print(pusher{name, true}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s may no longer push\n", name)
		return err
	})
}
