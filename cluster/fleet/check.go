package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
)

// prepare installs airgap.rpm on every other host and runs airgap preflight there. It returns the reports in
// the order of airgap.yaml, and an error about hosts without a report.
func (f *Fleet) prepare(ctx context.Context, p ui.Progress) ([]preflight.Report, error) {
	var with tools
	var err error
	if with.program, err = f.programPackage(ctx); err != nil {
		return nil, err
	}
	if with.index, err = f.signedIndex(); err != nil {
		return nil, err
	}
	if with.cluster, err = join.ClusterOf(f.site.Machine); err != nil {
		return nil, err
	}
	return prepareWith(ctx, f, with, p)
}

// tools are what each host needs for its checks.
type tools struct {
	program programRPM
	index   []remote.File
	cluster string // the CA of this host's cluster; "" for none
}

func prepareWith(ctx context.Context, f *Fleet, with tools, p ui.Progress) ([]preflight.Report, error) {
	reports := map[*Member]*preflight.Report{}
	for _, m := range f.Members {
		reports[m] = &preflight.Report{}
	}
	f.eachShown(ctx, p, "Check the other hosts", f.Members, func(ctx context.Context, m *Member) error {
		if err := m.bring(ctx, with.program); err != nil {
			return fmt.Errorf("install airgap.rpm: %w", err)
		}
		here, err := atRest(ctx, f, m)
		if err != nil {
			return err
		}
		if err := join.OtherCluster(m.Node.Name, here, with.cluster); err != nil {
			return err
		}
		m.Joined = here.Joined
		return f.preflight(ctx, m, with.index, reports[m])
	})
	err := f.Policy.GoOn(ctx, "preparation failed", "fix the problems and run the same command again; nothing was changed, except that airgap.rpm may be installed on the other hosts")
	var all []preflight.Report
	for _, m := range f.Members {
		all = append(all, *reports[m])
	}
	return all, err
}

// programRPM is airgap.rpm with its public key. The bundle's signature covers both.
type programRPM struct {
	files  []remote.File
	header string // SHA-256 of the RPM header, which identifies the build
}

const headerFormat = "%{SHA256HEADER}"

func (f *Fleet) programPackage(ctx context.Context) (programRPM, error) {
	var p programRPM
	for _, name := range []string{bundle.RPMKeyName, "airgap.rpm"} {
		data, err := f.bundle.Attested(name)
		if err != nil {
			return p, err
		}
		p.files = append(p.files, remote.File{Name: name, Data: data})
	}
	rpm := p.files[len(p.files)-1].Data
	out, err := host.Local{}.Run(ctx, host.Cmd{Name: "rpm", Args: []string{"-qp", "--qf", headerFormat, "/dev/stdin"}, Stdin: bytes.NewReader(rpm)})
	p.header = strings.TrimSpace(string(out))
	return p, err
}

// bringRPM imports the key, verifies the package's signature, and replaces any other build.
const bringRPM = `rpm --import "$1" && rpm -K airgap.rpm >said && grep -q 'signatures OK$' said || { cat said >&2; exit 1; }
rpm -U --oldpackage --replacepkgs airgap.rpm`

// bring installs airgap.rpm unless the host has the same build.
func (m *Member) bring(ctx context.Context, p programRPM) error {
	var have strings.Builder
	err := m.within(ctx, queryLimit, "rpm -q", func(ctx context.Context) error {
		return m.client.Run(ctx, remote.Command{Args: []string{"rpm", "-q", "--qf", headerFormat, "airgap"}, Stdout: io.MultiWriter(&have, m.log), Stderr: m.log})
	})
	if exit, is := errors.AsType[*remote.ExitError](err); err != nil && (!is || exit.Code != 1) {
		return err
	}
	if err == nil && strings.HasSuffix(strings.TrimSpace(have.String()), p.header) {
		return nil
	}
	m.log.note("install airgap.rpm")
	return m.within(ctx, rpmLimit, "rpm -U airgap.rpm", func(ctx context.Context) error {
		return m.client.RunWith(ctx, p.files, remote.Command{Args: []string{"sh", "-c", bringRPM, "sh", bundle.RPMKeyName}, Stdout: m.log, Stderr: m.log})
	})
}

// Membership reads from the host whether it is a node, and of which cluster.
func (m *Member) Membership(ctx context.Context) (join.Membership, error) {
	var run RemoteRun
	var here join.Membership
	err := m.within(ctx, queryLimit, "airgap membership", func(ctx context.Context) error {
		return m.Run(ctx, &run, nil, "", "membership", "--output", "json")
	})
	if err != nil {
		return here, err
	}
	return here, readResult(run.stdout.Bytes(), &here)
}

// signedIndex returns the files of the bundle that airgap preflight --index needs.
func (f *Fleet) signedIndex() ([]remote.File, error) {
	signed, err := join.SignedFiles(f.bundle)
	if err != nil {
		return nil, err
	}
	var files []remote.File
	for _, name := range slices.Sorted(maps.Keys(signed)) {
		files = append(files, remote.File{Name: name, Data: signed[name]})
	}
	return files, nil
}

// preflight runs airgap preflight on the host. Failed checks are in report, they are not an error.
func (f *Fleet) preflight(ctx context.Context, m *Member, index []remote.File, report *preflight.Report) error {
	var run RemoteRun
	args := append([]string{"preflight", "--index", ".", "--node", m.Node.Name, "--output", "json"}, join.RequireFlags(f.site.Required)...)
	args = append(args, listFlag("--only", f.only)...)
	args = append(args, listFlag("--skip", f.skip)...)
	err := m.within(ctx, preflightLimit, "airgap preflight", func(ctx context.Context) error { return m.Run(ctx, &run, index, "", args...) })
	if failed, is := errors.AsType[*remoteError](err); err != nil && (!is || failed.code != exitcode.Preflight) {
		return err
	}
	return readResult(run.stdout.Bytes(), report)
}

// joined reports whether all other hosts are already nodes.
func (f *Fleet) joined() bool {
	return !slices.ContainsFunc(f.Members, func(m *Member) bool { return !m.Joined })
}

func listFlag(name string, ids []string) []string {
	if len(ids) == 0 {
		return nil
	}
	return []string{name, strings.Join(ids, ",")}
}

// readResult reads the JSON output of airgap on another host. It skips text before the JSON, which a login script
// may have written.
func readResult(stdout []byte, v any) error {
	at := strings.Index("\n"+string(stdout), "\n{")
	if at < 0 {
		return fmt.Errorf("read the result of airgap: no JSON in %q", stdout)
	}
	if err := json.Unmarshal(stdout[at:], v); err != nil {
		return fmt.Errorf("read the result of airgap: %w", err)
	}
	return nil
}

// Gate runs the preflight checks on the other hosts and between all hosts, and returns an error unless all pass.
// own is the report of this host. The returned site has the network choice from the measurement.
func (f *Fleet) Gate(ctx context.Context, own preflight.Report, p ui.Progress) (*site.Site, error) {
	others, err := f.prepare(ctx, p)
	if err != nil {
		return nil, err
	}
	all := append(preflight.Reports{own}, others...)
	if !all.Passed() {
		var goOn bool
		if others, goOn = f.Policy.withoutFailed(own, others); !goOn {
			return nil, f.Policy.wayOut(allPass(all, p), f.Policy.failed())
		}
		all = append(preflight.Reports{own}, others...)
	}
	if cluster, err := join.ClusterOf(f.site.Machine); err != nil || cluster != "" && f.joined() || len(f.Members) == 0 {
		return f.site, errors.Join(err, allPass(all, p)) // the cluster exists: airgap verify tests its network
	}
	m, err := f.measure(ctx, p)
	if err != nil {
		return nil, err
	}
	f.measured = m
	between, err := hostcheck.JudgeBetween(ctx, f.site.Keeping(memberNames(f.Members)), m, preflight.Choice{Skip: f.skip})
	if err != nil {
		return nil, err
	}
	if err := allPass(append(all, between), p); err != nil {
		return nil, err
	}
	settled, err := hostcheck.Settle(f.site, m, p)
	if err == nil {
		f.site = settled
	}
	return settled, err
}

// allPass returns a preflight.ReportsError unless all hosts pass.
func allPass(all preflight.Reports, p ui.Progress) error {
	var failed preflight.Reports
	var summaries []string
	passed := map[string][]string{} // hosts by summary
	for _, r := range all {
		if !r.Passed() {
			failed = append(failed, r)
			continue
		}
		if passed[r.Summary()] == nil {
			summaries = append(summaries, r.Summary())
		}
		passed[r.Summary()] = append(passed[r.Summary()], r.Host)
	}
	for _, summary := range summaries {
		p.Say("preflight: %s: %s", hostrange.Join(passed[summary]), summary)
	}
	if len(failed) == 0 {
		return nil
	}
	return advice.Add(&preflight.ReportsError{Failed: failed, All: all},
		"fix the failed checks (airgap docs NAME shows the page of a check) and run the same command again; nothing was changed, except that the other hosts have airgap.rpm now")
}
