package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify/nodereport"
)

type installOptions struct {
	keys, skip []string
	node       string
	dryRun     bool
	noSSH      bool
	inPlace    bool
	timeout    wellTimeout
}

func (a *app) install() *cobra.Command {
	var o installOptions
	cmd := &cobra.Command{
		Use:   "install DIR",
		Short: "Make this server the first control-plane host, and the others nodes",
		Long: `Checks this server, copies the bundle into its store, serves it, and installs
packages, runtime and Kubernetes from there, then the add-ons of airgap.yaml as they
were rendered into the bundle; then verifies the cluster. The configuration is the
one inside the bundle. Pods of add-ons are not waited for: they may need a server
that has yet to join.

If that has a section ssh, the other servers are checked and joined too, at the same
time: with keys, an SSH agent or a password, and with sudo for anybody but root. Host
keys must be known, by known-hosts files or by nodes[].ssh.hostKey; at a terminal
airgap asks about one that is not. What each server said is in ` + hostLogDir + `.
Without the section, or with --no-ssh, the line to run on them is printed.

Nodes are added by a bundle that lists them, or a delta: the same command lets the new
ones in, and the others learn of them. airgap remove takes a node out. Another version
of Kubernetes is for airgap upgrade.

Nothing is changed before every check has passed. The command can be interrupted
at any point and run again: it goes on with what does not hold yet, and a second
run on a finished host changes nothing. What has drifted since is put right. Once the
bundle is copied DIR may also be its copy, where the stick is gone: airgap status names
it. A later bundle of the same cluster lies in ` + storeDir + `/NAME-ID.

With --require-key the bundle must be signed with exactly that key, whatever key
airgap.rpm brought. The server keeps to it in later commands, and the servers that
join get it with their line, until --require-key names another one.

With --dry-run nothing is changed, not even a file of airgap's own: it checks this
server and lists what each step would change here, and which steps airgap join
would run on the other servers. Exit code 3 when a check fails.

--output html and junit are for the checks: where one fails, the reports of all
servers are written so. What else there is to say is text then.`,
		Example: "  airgap install /media/stick/bank --dry-run\n  airgap install /media/stick/bank\n  airgap install /media/stick/bank --require-key SHA256:4be0…   # signed with the site's own key",
		Args:    oneArg("the bundle's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.dryRun {
				if err := a.noReport("airgap install --dry-run"); err != nil {
					return err
				}
			}
			return a.runInstall(cmd.Context(), args[0], o)
		},
	}
	keyFlags(cmd, &o.keys)
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would change, and on which host")
	cmd.Flags().StringSliceVar(&o.skip, "skip", nil, "preflight checks to leave out, by id; also of verify's rules those with the same one")
	cmd.Flags().StringVar(&o.node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	cmd.Flags().BoolVar(&o.inPlace, "in-place", false, "serve the bundle from DIR instead of copying it to "+storeDir+": DIR has to stay there, for pods and for servers that join")
	cmd.Flags().BoolVar(&o.noSSH, "no-ssh", false, "print the line for the other servers instead of joining them through SSH")
	o.timeout.flag(cmd.Flags(), "how long the cluster may take to be well at the end")
	return gives(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}

// installed is the result on stdout.
type installed struct {
	Node      string     `json:"node"`
	Changed   int        `json:"changed"`   // steps that ran
	Unchanged int        `json:"unchanged"` // steps whose result held already
	Join      []joinLine `json:"join,omitempty"`
	Hosts     []joined   `json:"hosts,omitempty"`     // the other ones, when they were joined through SSH
	Again     *joinAgain `json:"again,omitempty"`     // nodes that have to be told of what has changed
	BackupKey string     `json:"backupKey,omitempty"` // fingerprint of the key that this host signs its backups with
}

func (a *app) runInstall(ctx context.Context, dir string, o installOptions) error {
	if err := mustBeRoot("install"); err != nil {
		return err
	}
	v, t, err := openWhole(dir, o.keys)
	if err != nil {
		return err
	}
	defer v.Close()
	b := v.Top()
	s, err := freshSite(b.Index(), o.node)
	if err != nil {
		return err
	}
	s.required, s.store.InPlace, s.medium = t.required, o.inPlace, host.DeviceOf(dir)
	if err := s.ofThisCluster(ctx); err != nil {
		return err
	}
	if first := s.config.Master(); s.node.Name != first.Name {
		return advice.Add(fmt.Errorf("install on %s: by airgap.yaml the first control-plane host is %s", s.node.Name, first.Name), "run airgap install on %s, and airgap join here", first.Name)
	}
	if err := errors.Join(s.machine.RefuseAmidReplacement("install"), s.refuseUpgrade(ctx, dir)); err != nil {
		return err
	}
	if s.config.SSH == nil || o.noSSH { // else install itself measures
		if err := s.takeMeasured(measuredFile); err != nil {
			return err
		}
	}
	if o.dryRun {
		return a.rehearseInstall(ctx, s, o.skip, v, t.keys)
	}
	release, err := lockHost()
	if err != nil {
		return err
	}
	defer release()
	f, err := a.connectFleet(ctx, s, b, o)
	if err != nil {
		return err
	}
	defer f.close()
	p := a.newProgress()
	if err := a.gate(ctx, s, o.skip, v, t.keys, f, p); err != nil {
		return err
	}
	result, err := runSteps(ctx, s.installSteps(v, t.keys, p), p)
	if err != nil {
		return advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	return a.finishInstall(ctx, s, f, result, o, p)
}

func (a *app) rehearseInstall(ctx context.Context, s *site, skip []string, v *bundle.View, trusted []*ecdsa.PublicKey) error {
	stored, err := s.stored(v, trusted)
	if err != nil {
		return err
	}
	return a.rehearse(ctx, s, rehearsal{
		command: "install", skip: skip, stored: stored, packages: s.dryRunFrom(v),
		steps: s.installSteps(v, trusted, ui.Discard()), others: s.otherHosts(v, trusted),
	})
}

// gate runs the checks and lets nothing happen unless all of them pass.
func (a *app) gate(ctx context.Context, s *site, skip []string, v *bundle.View, trusted []*ecdsa.PublicKey, f *fleet, p ui.Progress) error {
	stored, err := s.stored(v, trusted)
	if err != nil {
		return err
	}
	if f != nil {
		own, err := s.judgeAtRest(ctx, skip, stored, s.dryRunFrom(v), p)
		if err != nil {
			return err
		}
		return a.gateAll(ctx, f, own, p)
	}
	return a.pass(ctx, s, skip, stored, s.dryRunFrom(v), p)
}

// stored reports whether the store needs no room for the bundle any more.
func (s *site) stored(v *bundle.View, trusted []*ecdsa.PublicKey) (bool, error) {
	held, err := s.store.Holds(v.Top(), trusted...)
	return held || s.store.InPlace, err
}

// installSteps is the whole installation of the first host, in order.
func (s *site) installSteps(v *bundle.View, trusted []*ecdsa.PublicKey, p ui.Progress) []step.Step {
	m, c := s.machine, s.config
	steps := append(s.firstSteps(), s.registrySteps(v, trusted, p)...)
	steps = append(steps, s.nodeSteps(fromView(v), s.registryAddr(), p)...)
	steps = append(steps, kubeadm.BeforeControlPlane(m, c.Kubernetes, nil)...)
	steps = append(steps,
		kubeadm.Init(m, c.Kubernetes, s.kubeNode(), s.facts),
		kubeadm.AgreementStep(m, nodereport.LocalKubelet().Driver),
		kubeadm.Permissions(m, c.Kubernetes),
		kubeadm.ApproverStep(m),
		s.noteStep("bundle-note", "Say which bundle this host is as", bundleNote))
	return append(steps, s.clusterSteps(v, p)...)
}

// clusterSteps are what the first host brings into the cluster, once there is one.
func (s *site) clusterSteps(v *bundle.View, p ui.Progress) []step.Step {
	m, c := s.machine, s.config
	var steps []step.Step
	if c.Kubernetes.DNS == kubeadm.NoDNS {
		steps = append(steps, kubeadm.NoForwarding(m))
	}
	steps = append(steps, s.networkStep(fromView(v)), s.dataPlaneStep())
	steps = append(steps, s.deviceSteps()...)
	steps = append(steps,
		backup.Step(backups(), c.Backup.EncryptTo),
		s.upkeepStep(),
		s.verifyReaderStep(),
		s.nodeReportStep(),
		s.nodeReportUnitStep(p),
		s.joinMaterialStep(v.Top()),
	)
	return append(steps, s.addonSteps(fromView(v))...)
}

// registrySteps are those of every control-plane host: the bundle in its store,
// served.
func (s *site) registrySteps(v *bundle.View, trusted []*ecdsa.PublicKey, p ui.Progress) []step.Step {
	pki := registry.PKI{Dir: pkiDir, Group: serviceGroup}
	return []step.Step{
		registry.StoreStep(s.store, v, trusted, p),
		registry.CertificatesStep(pki, []string{s.node.Name, s.node.Address}),
		registry.ServiceStep(registry.Service{
			Host: host.Local{}, OptionsFile: registryOpts, Port: s.config.Registry.Port, Peers: s.registries()[1:],
			Addr: s.registryAddr(), CAFile: pki.CAFile(), Bundles: v.Bundles(),
		}),
	}
}

// nodeSteps are those of every node: packages, settings, runtime. The packages
// come from the registry at addr.
func (s *site) nodeSteps(from source, addr string, p ui.Progress) []step.Step {
	m := s.machine
	steps := append(s.beforeDriver(), s.packagesStep(from, addr))
	steps = append(steps, s.settingSteps()...)
	steps = append(steps, s.driverSteps(from, p)...)
	if s.config.Runtime.Package() == "" { // else its package has brought the programs
		steps = append(steps, kubeadm.LabelsStep(m), kubeadm.RuntimeFiles(m, s.config.Runtime, s.arch(), from.files))
	}
	steps = append(steps, kubeadm.FapolicydStep(m, s.config.Runtime), s.mirrorStep())
	return append(steps, s.runtimeSteps()...)
}

// runtimeSteps start the runtime and show that images come from where they should.
// A registry of the site's own has no image of ours alone: kubeadm's first pull
// shows it.
func (s *site) runtimeSteps() []step.Step {
	options, err := s.runtime()
	if err != nil {
		return []step.Step{{Name: "runtime", Title: "Start the runtime", Done: func(context.Context) (bool, error) { return false, err }}}
	}
	steps := []step.Step{kubeadm.RuntimeService(s.machine, options), kubeadm.CrictlStep(s.machine, s.config.Runtime)}
	if s.config.Registry.Existing == nil {
		steps = append(steps, kubeadm.PullStep(s.machine, registry.Canary, options.Mirrors))
	}
	if s.config.Runtime.PinsByLabel() {
		steps = append(steps, kubeadm.PinStep(s.machine, options.Pinned))
	}
	return steps
}

// finishInstall verifies what was built and says how the others join. The
// code is made only when something changed: a run that changes nothing leaves
// the cluster as it was, too.
func (a *app) finishInstall(ctx context.Context, s *site, f *fleet, done step.Result, o installOptions, p ui.Progress) error {
	if f != nil {
		return a.finishFleet(ctx, f, done, o.timeout, p)
	}
	report, err := s.verify(ctx, verifyOptions{kubeconfig: kubeadm.AdminConf, systemOnly: true, skip: o.skip, timeout: time.Duration(o.timeout), joinedOnly: true}, p)
	if err != nil {
		return err
	}
	if !report.OK {
		return a.showVerdict(report)
	}
	result := installed{Node: s.node.Name, Changed: done.Changed, Unchanged: done.Unchanged, BackupKey: backupKey()}
	if result.Join, err = s.joinLines(ctx, done.Changed > 0, p.Say); err != nil {
		return err
	}
	if done.Changed > 0 {
		if result.Again, err = s.joinAgain(ctx); err != nil {
			return err
		}
	}
	return a.print(result, func(w io.Writer) error { return writeInstalled(w, result) })
}

func writeInstalled(w io.Writer, r installed) error {
	if r.Changed == 0 {
		fmt.Fprintf(w, "%s: nothing to do, all %d steps hold; the cluster is verified\n", r.Node, r.Unchanged)
	} else {
		fmt.Fprintf(w, "%s: installed and verified (%d steps ran, %d held already)\n", r.Node, r.Changed, r.Unchanged)
		writeBackupKey(w, r.Node, r.BackupKey)
	}
	return errors.Join(writeJoinLines(w, r.Join), r.Again.write(w))
}
