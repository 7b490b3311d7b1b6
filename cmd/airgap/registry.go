package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/delta"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/status"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/version"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

func (a *app) registry() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "registry",
		Short: "The registry that serves bundles to the cluster",
		Long: `Serves the bundles in ` + site.StoreDir + ` in place: images under the names that
upstream gave them, RPMs for dnf, files for joining hosts. Every byte is verified
when it is first read.`,
		Example: "  airgap registry status\n  airgap registry import /media/stick/bank\n  airgap registry prune --dry-run",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.registryServe(), a.registryStatus(), a.registryImport(), a.registryPrune(), a.registryPasswd(), a.registryRenew())
	return gives(cmd, asText)
}

// storeFlags are shared by the registry's commands.
type storeFlags struct {
	store string
	keys  []string
}

func (f *storeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.store, "store", site.StoreDir, "directory of the bundles")
	keyFlags(cmd, &f.keys)
}

const serveLong = `Serves every bundle of the store until it is ended by a signal, with what the site
has pushed, and copies from the other registries (--peer) what was pushed there.
airgap install and join start it as ` + registry.UnitName + `, with options in
` + site.RegistryOpts + `, as a user who owns nothing but what was
pushed. A bundle that comes later is served after a restart, which airgap registry
import sees to; a certificate that was renewed is served from the next connection on.`

func (a *app) registryServe() *cobra.Command {
	var f storeFlags
	var port int
	var pki, join, pushed, users string
	var others []string
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve the store over TLS; what " + registry.UnitName + " runs",
		Long:    serveLong,
		Example: "  airgap registry serve\n  airgap registry serve --store ./bundles --pki ./pki --pushed '' --port 5443",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bundles, log, err := a.openStore(f)
			if err != nil {
				return err
			}
			certs := trust.PKI{Dir: pki}
			for _, addr := range others {
				if err := site.CheckAddress("airgap registry serve: --peer", addr); err != nil {
					return err
				}
			}
			peers, err := verdict.RegistriesAt(others, certs.CAFile())
			if err != nil {
				return err
			}
			return registry.Serve(cmd.Context(), registry.ServeOptions{
				Options: registry.Options{
					Bundles: bundles,
					Pushed:  pushed,
					Users:   users,
					Brought: registry.Store{Dir: f.store}.Brought,
					Peers:   peers,
					Join:    registry.JoinFiles(join),
					Log:     log,
					Version: version.String(),
				},
				Addr:        fmt.Sprintf(":%d", port),
				Certificate: certs.CertificateFile(),
				Key:         certs.KeyFile(),
			})
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&port, "port", registry.DefaultPort, "TCP port")
	cmd.Flags().StringVar(&pki, "pki", site.PKIDir, "directory of registry.crt and registry.key")
	cmd.Flags().StringVar(&pushed, "pushed", site.PushedDir, "directory of what is pushed; empty: nobody may push")
	cmd.Flags().StringVar(&users, "users", site.UsersFile, "htpasswd file of those who may push")
	cmd.Flags().StringArrayVar(&others, "peer", nil, "ADDRESS:PORT of another registry of this cluster, whose pushes are copied; may be given more than once")
	cmd.Flags().StringVar(&join, "join", site.JoinDir, "directory that joining hosts may read")
	return gives(cmd, asText)
}

// openStore opens what can be opened: one bad bundle must not take the others
// from the cluster. It is logged, and status and verify show it.
func (a *app) openStore(f storeFlags) ([]*bundle.Bundle, *slog.Logger, error) {
	log := slog.New(slog.NewJSONHandler(a.stderr, nil))
	t, err := site.TrustedKeys(f.keys, site.StoredBundles(f.store)...)
	if err != nil {
		return nil, nil, err
	}
	bundles, err := registry.Store{Dir: f.store}.Open(t.Keys...)
	if err != nil {
		log.Error("open store", "error", err.Error())
	}
	if len(bundles) == 0 {
		return nil, nil, advice.Add(errors.Join(fmt.Errorf("no bundle to serve in %s", f.store), err), "airgap registry import DIR brings one in")
	}
	return bundles, log, nil
}

// storeStatus is the result of `registry status`.
type storeStatus struct {
	Bundles       []status.StoredBundle   `json:"bundles"`
	Disagreements []registry.Disagreement `json:"disagreements,omitempty"` // the newest is served
}

func (a *app) registryStatus() *cobra.Command {
	var f storeFlags
	var receipt, pki string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List the bundles of this host's store, or sign a receipt of what they hold",
		Long: `Lists the bundles of this host's store. With --receipt FILE it writes what they
hold, signed by the registry's authority, for airgap bundle --delta-from: the next
bundle leaves that out. The receipt holds names, sizes and digests, and no secret.`,
		Example: "  airgap registry status --receipt /media/stick/bank.receipt",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			t, err := site.TrustedKeys(f.keys, site.StoredBundles(f.store)...)
			if err != nil {
				return err
			}
			bundles, broken := registry.Store{Dir: f.store}.Open(t.Keys...)
			defer bundle.NewView(bundles...).Close()
			if receipt != "" {
				written, err := delta.WriteReceipt(receipt, trust.PKI{Dir: pki}, bundles)
				if err != nil {
					return errors.Join(err, broken)
				}
				return errors.Join(a.print(written, written.Write), broken)
			}
			list := make([]status.StoredBundle, len(bundles))
			for i, b := range bundles {
				list[i] = status.Describe(b.Index())
			}
			moved := registry.Disagreements(bundles)
			return errors.Join(a.print(storeStatus{list, moved}, func(w io.Writer) error { return writeBundles(w, list, moved) }), broken)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&receipt, "receipt", "", "file to write, and sign, what the bundles hold to")
	cmd.Flags().StringVar(&pki, "pki", site.PKIDir, "directory of the registry's authority, ca.crt and ca.key")
	return cmd
}

func writeBundles(w io.Writer, list []status.StoredBundle, moved []registry.Disagreement) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no bundle in the store")
		return err
	}
	for _, b := range list {
		delta := ""
		if b.Left > 0 {
			delta = fmt.Sprintf("; %s of it in other bundles", ui.Count(b.Left, "file"))
		}
		if _, err := fmt.Fprintf(w, "%-24s %s  %9s  %d images, %d packages%s\n", b.Name, b.Created, ui.Size(b.Bytes), b.Images, b.Packages, delta); err != nil {
			return err
		}
	}
	for _, d := range moved {
		if _, err := fmt.Fprintf(w, "%s is %s's, %s; %s has %s\n", d.Image, d.Of, d.Is, d.Not, d.Was); err != nil {
			return err
		}
	}
	return nil
}
