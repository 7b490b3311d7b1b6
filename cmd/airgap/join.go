package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry"
)

type joinOptions struct {
	addr, caHash, codeFile, node string
	keys, skip                   []string
	newCode, dryRun, prepare     bool
}

func (a *app) join() *cobra.Command {
	var o joinOptions
	cmd := &cobra.Command{
		Use:   "join ADDRESS:PORT --ca-hash sha256:…",
		Short: "Make this server a node of the cluster",
		Long: `Joins this server to the cluster whose registry is at ADDRESS:PORT; airgap install
prints the line. Everything comes from that registry, checked against the signed
index; the server needs airgap.rpm and nothing else. airgap.yaml says whether it
becomes a worker or a further control-plane host, which serves a registry as well.

The code lets the server of one node in, once, within two hours, and only into the
cluster that it is of. It is read from a prompt, from
standard input or from --code-file, never from the command line, where every user of
this host could read it.

A machine that takes a dead host's place, with its name and address, joins in the same
way. For a control-plane host, making the code takes what the dead one left in etcd
out of it first; while that one answers, and for about a minute after, no code is made.`,
		Example: "  airgap join 10.0.0.11:5000 --ca-hash sha256:1f6b…\n  airgap join --new-code --node node4   # on a control-plane host: the line, and a fresh code",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.prepare && (o.newCode || o.dryRun) {
				return advice.Usagef("airgap join: --prepare is for a node that is to be upgraded: leave --new-code and --dry-run away")
			}
			if o.newCode && o.dryRun {
				return advice.Usagef("airgap join: --new-code makes a code, and --dry-run changes nothing: one or the other")
			}
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
				return advice.Usagef("airgap join: --ca-hash is missing; airgap install prints the whole line")
			}
			if !registry.IsCAHash(o.caHash) {
				return advice.Usagef("airgap join: --ca-hash %q: want sha256: and 64 hexadecimal digits, as airgap install prints it", o.caHash)
			}
			o.addr = args[0]
			if err := site.CheckAddress("airgap join:", o.addr); err != nil {
				return err
			}
			return a.runJoin(cmd.Context(), o)
		},
	}
	keyFlags(cmd, &o.keys)
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would change; asks for no code")
	cmd.Flags().BoolVar(&o.prepare, "prepare", false, "on a node that is to be upgraded: only get what that takes, for airgap upgrade")
	cmd.Flags().StringVar(&o.caHash, "ca-hash", "", "SHA-256 of the registry's authority, as airgap install prints it")
	cmd.Flags().StringVar(&o.codeFile, "code-file", "", "file with the one-time code; default: prompt, or standard input when it is not a terminal")
	cmd.Flags().StringSliceVar(&o.skip, "skip", nil, "preflight checks to leave out, by id")
	cmd.Flags().StringVar(&o.node, "node", "", "which node of airgap.yaml this host is; default: by its addresses. With --new-code: which node is to join; default: the only one that has not")
	cmd.Flags().BoolVar(&o.newCode, "new-code", false, "on a control-plane host: print the line and a fresh code")
	return cmd
}

func (a *app) runNewCode(ctx context.Context, o joinOptions) error {
	s, err := site.Stored(o.keys, "")
	if err != nil {
		return err
	}
	if err := s.Machine.RefuseAmidReplacement("make a code for joining"); err != nil {
		return err
	}
	line, err := a.newCodeLine(ctx, s, o.node)
	if err != nil {
		return err
	}
	return a.print(line, line.Write)
}

// newCodeLine has a code for the node of that name; "" is the only one that has not
// joined. Where all have, the line is for them, and has no code.
func (a *app) newCodeLine(ctx context.Context, s *site.Site, name string) (join.Line, error) {
	if name == "" {
		missing, err := join.MissingNodes(ctx, s)
		if err != nil {
			return join.Line{}, err
		}
		switch len(missing) {
		case 0:
			return join.LineFor(s, config.Node{})
		case 1:
			name = missing[0].Name
		default:
			var all []string
			for _, n := range missing {
				all = append(all, n.Name)
			}
			return join.Line{}, advice.Add(fmt.Errorf("make a code: a code is for one node, and %s have not joined", strings.Join(all, ", ")), "airgap join --new-code --node %s, and one for each other", missing[0].Name)
		}
	}
	node, err := s.Listed(name)
	if err != nil {
		return join.Line{}, err
	}
	if err := join.NotAlive(ctx, s, node); err != nil {
		return join.Line{}, err
	}
	return join.LineWithCode(ctx, s, node, a.newProgress().Say)
}

func (a *app) runJoin(ctx context.Context, o joinOptions) error {
	if err := mustBeRoot("join"); err != nil {
		return err
	}
	if err := site.ThisMachine().RefuseAmidReplacement("join"); err != nil {
		return err
	}
	hub, err := join.ReachHub(ctx, o.addr, o.caHash, o.keys)
	if err != nil {
		return err
	}
	s, err := site.New(hub.Index, o.node)
	if err != nil {
		return err
	}
	s.Required = hub.Required
	s.Take(hub.Choice)
	s.LeaveOut(hub.Removed)
	if err := join.RefuseOtherCluster(s, hub.Material); err != nil {
		return err
	}
	s.Peer = preflight.Peer{Name: hub.Addr, Ahead: hub.Ahead}
	if o.prepare {
		return a.runPrepare(ctx, s, hub)
	}
	if err := join.MayUpgrade(ctx, s); err != nil {
		return err
	}
	if o.dryRun {
		return a.rehearseJoin(ctx, s, hub, o.skip)
	}
	if err := hostcheck.ClockAgrees(s, o.skip); err != nil {
		return err
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return err
	}
	defer release()
	admission, err := a.admit(ctx, s, hub, o.codeFile)
	if err != nil {
		return err
	}
	p := a.newProgress()
	if err := join.MendTorn(ctx, s, p); err != nil {
		return err
	}
	steps, stored, err := join.Steps(ctx, s, hub, admission, p)
	if err != nil {
		return err
	}
	if err := a.pass(ctx, s, o.skip, stored, join.DryRunAt(s, hub), p); err != nil {
		return err
	}
	result, err := runSteps(ctx, steps, p)
	if err != nil {
		return advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	done := installed{Node: s.Node.Name, Changed: result.Changed, Unchanged: result.Unchanged, BackupKey: backupKey()}
	return a.print(done, func(w io.Writer) error { return writeJoined(w, done) })
}

// rehearseJoin needs no code: nobody is let in.
func (a *app) rehearseJoin(ctx context.Context, s *site.Site, h *join.Hub, skip []string) error {
	steps, stored, err := join.Steps(ctx, s, h, &join.Admission{}, ui.Discard())
	if err != nil {
		return err
	}
	return a.rehearse(ctx, s, rehearsal{command: "join", skip: skip, stored: stored, packages: join.DryRunAt(s, h), steps: steps})
}

func writeJoined(w io.Writer, r installed) error {
	if r.Changed == 0 {
		_, err := fmt.Fprintf(w, "%s: nothing to do, all %d steps hold\n", r.Node, r.Unchanged)
		return err
	}
	writeBackupKey(w, r.Node, r.BackupKey)
	_, err := fmt.Fprintf(w, "%s: joined (%d steps ran, %d held already); airgap verify on the control-plane host gives the verdict\n", r.Node, r.Changed, r.Unchanged)
	return err
}
