package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cmd/airgap/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry"
)

type joinOptions struct {
	addr, caHash, codeFile, node string
	keys, skip                   []string
	newCode                      bool
}

func (a *app) join() *cobra.Command {
	var o joinOptions
	cmd := &cobra.Command{
		Use:   "join ADDRESS:PORT --ca-hash sha256:…",
		Short: "Make this server a worker of the cluster",
		Long: `Joins this server to the cluster whose registry is at ADDRESS:PORT; airgap install
prints the line. Everything comes from that registry, checked against the signed
index; the server needs airgap.rpm and nothing else.

The one-time code is read from a prompt, from standard input or from --code-file,
never from the command line, where every user of this host could read it.`,
		Example: "  airgap join 10.0.0.11:5000 --ca-hash sha256:1f6b…\n  airgap join --new-code          # on the first control-plane host: the line, and a fresh code",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.newCode {
				return noArgs(cmd, args)
			}
			return oneArg("the registry's ADDRESS:PORT")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.newCode {
				return a.runNewCode(cmd.Context(), o)
			}
			if o.caHash == "" {
				return usage("airgap join: --ca-hash is missing; airgap install prints the whole line")
			}
			if !registry.IsCAHash(o.caHash) {
				return usage("airgap join: --ca-hash %q: want sha256: and 64 hexadecimal digits, as airgap install prints it", o.caHash)
			}
			o.addr = args[0]
			if err := checkAddress("airgap join:", o.addr); err != nil {
				return err
			}
			return a.runJoin(cmd.Context(), o)
		},
	}
	keyFlags(cmd, &o.keys)
	cmd.Flags().StringVar(&o.caHash, "ca-hash", "", "SHA-256 of the registry's authority, as airgap install prints it")
	cmd.Flags().StringVar(&o.codeFile, "code-file", "", "file with the one-time code; default: prompt, or standard input when it is not a terminal")
	cmd.Flags().StringSliceVar(&o.skip, "skip", nil, "preflight checks to leave out, by id")
	cmd.Flags().StringVar(&o.node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	cmd.Flags().BoolVar(&o.newCode, "new-code", false, "on a control-plane host: print the line and a fresh code")
	return cmd
}

func (a *app) runNewCode(ctx context.Context, o joinOptions) error {
	s, err := storedSite(o.keys, o.node)
	if err != nil {
		return err
	}
	line, err := s.joinLine(ctx, true)
	if err != nil {
		return err
	}
	return a.print(line, line.write)
}

func (a *app) runJoin(ctx context.Context, o joinOptions) error {
	if err := mustBeRoot("join"); err != nil {
		return err
	}
	hub, err := reachHub(ctx, o)
	if err != nil {
		return err
	}
	s, err := newSite(hub.index, o.node)
	if err != nil {
		return err
	}
	if s.node.Has(config.ControlPlane) {
		return hint(fmt.Errorf("join %s: airgap.yaml makes it a control-plane node", s.node.Name), "run airgap install on it; more control-plane hosts are not supported yet")
	}
	release, err := lockHost()
	if err != nil {
		return err
	}
	defer release()
	code, err := a.joinCode(ctx, s, o.codeFile)
	if err != nil {
		return err
	}
	p := a.newProgress()
	if err := a.pass(ctx, s, o.skip, true, s.dryRunAt(hub), p); err != nil {
		return err
	}
	result, err := runSteps(ctx, s.joinSteps(hub, code), p)
	if err != nil {
		return hint(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	done := installed{Node: s.node.Name, Changed: result.Changed, Unchanged: result.Unchanged}
	return a.print(done, func(w io.Writer) error { return writeJoined(w, done) })
}

func writeJoined(w io.Writer, r installed) error {
	if r.Changed == 0 {
		_, err := fmt.Fprintf(w, "%s: nothing to do, all %d steps hold\n", r.Node, r.Unchanged)
		return err
	}
	_, err := fmt.Fprintf(w, "%s: joined (%d steps ran, %d held already); airgap verify on the control-plane host gives the verdict\n", r.Node, r.Changed, r.Unchanged)
	return err
}

// joinSteps is the whole way of a worker into the cluster, in order.
func (s *site) joinSteps(h *hub, code func(context.Context) (string, error)) []step.Step {
	steps := []step.Step{
		kubeadm.Record(s.machine),
		filesStep("authority", "Trust the registry's authority", pkiDir, map[string][]byte{filepath.Base(registry.PKI{Dir: pkiDir}.CAFile()): h.ca}),
		filesStep("index", "Keep the signed index", indexDir, h.signed),
	}
	steps = append(steps, s.nodeSteps(h.open)...)
	return append(steps,
		kubeadm.Join(s.machine, s.config.Kubernetes, s.kubeNode(), h.material, code),
		kubeadm.AgreementStep(s.machine))
}

// joinCode is asked for the code by the step that joins. It is read and checked
// here, before anything on the host is changed, unless kubeadm has joined already.
func (a *app) joinCode(ctx context.Context, s *site, file string) (func(context.Context) (string, error), error) {
	joined, err := s.machine.Joined()
	if joined || err != nil {
		return func(ctx context.Context) (string, error) { return a.readCode(ctx, file) }, err
	}
	code, err := a.readCode(ctx, file)
	return func(context.Context) (string, error) { return code, nil }, err
}

// readCode takes the code from the file, the terminal or stdin.
func (a *app) readCode(ctx context.Context, file string) (string, error) {
	text, err := a.readSecret(ctx, file)
	if errors.Is(err, io.EOF) {
		return "", hint(errors.New("read the one-time code: standard input is empty"), "pipe it in, or name its file with --code-file")
	}
	if err != nil {
		return "", fmt.Errorf("read the one-time code: %w", err)
	}
	code := strings.TrimSpace(text)
	if err := kubeadm.CheckCode(code); err != nil {
		return "", hint(err, "airgap join --new-code on the control-plane host makes a fresh one")
	}
	return code, nil
}

func (a *app) readSecret(ctx context.Context, file string) (string, error) {
	if file == "" {
		return a.ask(ctx, "One-time code (not shown): ", true)
	}
	data, err := os.ReadFile(file)
	return string(data), err
}

// storedSite is the site of the newest bundle in this host's store.
func storedSite(keyFiles []string, node string) (*site, error) {
	keys, err := trustedKeys(keyFiles)
	if err != nil {
		return nil, err
	}
	bundles, err := registry.Store{Dir: storeDir}.Open(keys...)
	if len(bundles) == 0 {
		return nil, hint(errors.Join(errors.New("find the cluster's configuration: no bundle in "+storeDir), err), "run this on the first control-plane host")
	}
	for _, b := range bundles {
		defer b.Close()
	}
	return newSite(newestOf(bundles).Index(), node)
}

func newestOf(bundles []*bundle.Bundle) *bundle.Bundle {
	newest := bundles[0]
	for _, b := range bundles {
		if b.Index().Created.After(newest.Index().Created) {
			newest = b
		}
	}
	return newest
}
