package fleet

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/remote/sshtest"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry/trust"
)

const fleetSize = 300

// ownMounts says that /etc and /var/log of this process are not those of the machine.
const ownMounts = "AIRGAP_OWN_MOUNTS"

// BenchmarkThreeHundredHosts logs in on 300 simulated hosts, runs the preflight checks and joins them. `make bench
// RUN=fleet` has the limits. The figures are those of this process alone: the servers run in another one.
func BenchmarkThreeHundredHosts(b *testing.B) {
	if os.Getenv(ownMounts) == "" {
		b.Skip("it writes below /etc and /var/log: make bench RUN=fleet gives it a mount namespace")
	}
	for b.Loop() {
		m := newMeasurement(b)
		b.StopTimer()
		m.run()
		b.StartTimer()
	}
}

// measurement is an installation of the simulated hosts.
type measurement struct {
	*testing.B

	site    *site.Site
	bundle  *bundle.Bundle
	console *ui.Terminal
	lines   *lineCount // of the progress
}

// lineCount counts what a log of the command gets.
type lineCount struct{ lines atomic.Int64 }

func (c *lineCount) Write(p []byte) (int, error) {
	c.lines.Add(int64(bytes.Count(p, []byte("\n"))))
	return len(p), nil
}

func newMeasurement(b *testing.B) *measurement {
	b.Helper()
	keyFile := filepath.Join(b.TempDir(), "key")
	hosts := simulate(b, fleetSize, sshtest.KeyFile(b, keyFile, "", 0o600))
	m := &measurement{B: b, lines: &lineCount{}}
	m.console = &ui.Terminal{In: strings.NewReader(""), Err: m.lines, Format: ui.Plain}
	m.site = m.firstHost(hosts, keyFile)
	fixture := bundletest.NewWithFiles(b, "bank", manyFiles(), bundletest.StandardImages(b)...)
	key, err := rpm.NewKey(time.Now())
	m.must(err)
	public, err := key.Public()
	m.must(err)
	for name, data := range map[string][]byte{"airgap.rpm": make([]byte, 1<<20), bundle.RPMKeyName: public} {
		m.must(os.WriteFile(filepath.Join(fixture.Dir, name), data, 0o644))
	}
	fixture.Sign(b)
	bin := b.TempDir() // without Rocky's rpm
	m.must(os.WriteFile(filepath.Join(bin, "rpm"), []byte("#!/bin/sh\ncat >/dev/null; echo "+simulatedHeader+"\n"), 0o755))
	b.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	m.bundle = fixture.Open(b)
	return m
}

func (m *measurement) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// manyFiles give the index of the bundle, which every host gets, the size of a real one.
func manyFiles() map[string][]byte {
	all := map[string][]byte{}
	for i := range 2000 {
		all[fmt.Sprintf("file%04d", i)] = []byte("x")
	}
	return all
}

// firstHost returns the site of the first host, and makes its files.
func (m *measurement) firstHost(hosts *simulation, keyFile string) *site.Site {
	m.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: bank
kubernetes: {version: 1.36.3, podSubnet: 10.64.0.0/14}
packages: {os: el9, repositories: [{name: baseos, baseURL: "https://dl.example.com/", gpgKeys: ["https://dl.example.com/key"]}]}
ssh: {identityFile: %s, parallel: 100}
nodes:
  - {name: node001, address: 192.0.2.1, roles: [control-plane]}
`, keyFile)
	for i, port := range hosts.Ports {
		fmt.Fprintf(&text, "  - {name: %s, address: 198.51.%d.%d, roles: [worker], ssh: {address: 127.0.0.1, port: %d, hostKey: %q}}\n",
			simulatedName(i), 100+i/250, 1+i%250, port, hosts.HostKey)
	}
	c, err := config.Parse("airgap.yaml", []byte(text.String()))
	m.must(err)
	root := m.TempDir()
	ca, _, err := trust.NewAuthority(time.Now())
	m.must(err)
	for name, data := range map[string][]byte{
		filepath.Join(root, kube.AdminConf):  []byte(sitetest.Kubeconfig(hosts.API)),
		filepath.Join(root, kube.ClusterCA):  ca,
		trust.PKI{Dir: site.PKIDir}.CAFile(): ca,
	} {
		m.must(host.WriteFile(name, data, 0o600))
	}
	return &site.Site{
		Config: c, Nodes: c.Nodes, Node: c.Nodes[0],
		Machine: kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: host.Local{}, Root: root}}},
	}
}

// run reports the seconds of each part, and the memory, files and lines of all.
func (m *measurement) run() {
	ctx := m.Context()
	files, stop := mostFiles()
	debug.FreeOSMemory() // what the preparation of the benchmark left
	before := m.memory("VmRSS")
	held := inUse()
	m.must(os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // the peak so far
	var f *Fleet
	m.timed("login-s", func() (err error) { f, err = Connect(ctx, m.site, m.bundle, Options{Console: m.console}); return err })
	defer f.Close()
	p := m.console.Progress()
	m.ReportMetric(inUse()-held, "sessions-MB")
	var reports preflight.Reports
	m.timed("preflight-s", func() (err error) { reports, err = f.prepare(ctx, p); return err })
	var text lineCount
	m.must(reports.Text(&text))
	if len(reports) != fleetSize || reports.Passed() {
		m.Errorf("got %d reports, passed: %t", len(reports), reports.Passed())
	}
	m.timed("join-s", func() error {
		for _, j := range f.Join(ctx, p) {
			if j.Error != "" || j.Changed != simulatedChanges {
				return fmt.Errorf("%+v", j)
			}
		}
		return nil
	})
	stop()
	m.ReportMetric(m.memory("VmHWM")-before, "all-MB")
	m.ReportMetric(float64(files.Load()), "files")
	m.ReportMetric(float64(text.lines.Load()), "report-lines")
	m.ReportMetric(float64(m.lines.lines.Load()), "log-lines")
}

func (m *measurement) timed(unit string, do func() error) {
	m.Helper()
	began := time.Now()
	m.must(do())
	m.ReportMetric(time.Since(began).Seconds(), unit)
}

// inUse is the memory that is in use after a garbage collection, in MB.
func inUse() float64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return float64(s.HeapInuse+s.StackInuse) / 1e6
}

// memory is a value of this process, in MB.
func (m *measurement) memory(name string) float64 {
	m.Helper()
	text, err := os.ReadFile("/proc/self/status")
	m.must(err)
	_, rest, _ := strings.Cut(string(text), "\n"+name+":")
	value, _, _ := strings.Cut(strings.TrimSpace(rest), " kB")
	kib, err := strconv.Atoi(value)
	m.must(err)
	return float64(kib) * 1024 / 1e6
}

// mostFiles counts the open files of this process until stop.
func mostFiles() (most *atomic.Int64, stop func()) {
	most, ended, counted := &atomic.Int64{}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(counted)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
				most.Store(max(most.Load(), int64(len(entries))))
			}
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	}()
	return most, func() { close(ended); <-counted }
}
