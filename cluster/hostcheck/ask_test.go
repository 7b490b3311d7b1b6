package hostcheck

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/replay"
)

// TestAsk: a fact of only one check is gathered if that check is chosen. Its outcome is a fact, too.
func TestAsk(t *testing.T) {
	s := sitetest.SettingsSite(t, "")
	f := &facts.Facts{Driver: "what is this"}
	refused := errors.New("nothing provides socat")
	for _, tc := range []struct {
		name   string
		choice preflight.Choice
		dry    error // nil: dnf does not run
		want   facts.Outcome
	}{
		{"chosen", preflight.Choice{Only: []string{"packages"}}, refused, facts.OutcomeOf(refused)},
		{"skipped", preflight.Choice{Only: []string{}, Skip: []string{"packages"}}, refused, facts.Outcome{}},
		{"not chosen", preflight.Choice{Only: []string{"swap"}}, refused, facts.Outcome{}},
		{"later", preflight.Choice{Only: []string{"packages"}}, nil, facts.Outcome{Skipped: "airgap join runs dnf after the registry is available"}},
	} {
		var dry func(context.Context) error
		if tc.dry != nil {
			dry = func(context.Context) error { return tc.dry }
		}
		want := &preflight.Want{Roles: []preflight.Role{preflight.ControlPlane}}
		transaction, end := begin(t.Context(), want, tc.choice, dry)
		asked := ask(t.Context(), s, want, tc.choice, f, transaction)
		end()
		if asked.Transaction != tc.want || asked.EtcdDiskOutcome.Done || asked.GPUs == nil || asked.GPUs.Unknown == "" {
			t.Errorf("%s: %+v, GPUs %+v", tc.name, asked, asked.GPUs)
		}
	}
}

// TestBegin: dnf runs next to the reading of facts, but after the test of etcd's disk. The end stops it.
func TestBegin(t *testing.T) {
	for name, role := range map[string]preflight.Role{"worker": preflight.Worker, "control plane": preflight.ControlPlane} {
		t.Run(name, func(t *testing.T) {
			began := make(chan struct{})
			dry := func(ctx context.Context) error {
				close(began)
				<-ctx.Done()
				return ctx.Err()
			}
			ctx, cancel := context.WithCancel(t.Context())
			transaction, end := begin(ctx, &preflight.Want{Roles: []preflight.Role{role}}, preflight.Choice{}, dry)
			if role == preflight.Worker {
				<-began
				end()
			} else {
				select {
				case <-began:
					t.Error("dnf began before the test of etcd's disk")
				case <-time.After(50 * time.Millisecond):
				}
				cancel()
			}
			if outcome := transaction(); !strings.Contains(outcome.Failed, context.Canceled.Error()) {
				t.Errorf("%+v", outcome)
			}
			cancel()
			end()
		})
	}
}

// TestAskPodPath: the way of pods' packets is tried only for the chosen check, and not on a node.
func TestAskPodPath(t *testing.T) {
	s, f := sitetest.SettingsSite(t, ""), &facts.Facts{}
	only := preflight.Choice{Only: []string{"pod-path"}}
	for _, tc := range []struct {
		want   preflight.Want
		choice preflight.Choice
		said   string
	}{
		{preflight.Want{PodSubnet: "fd00::/48", ServiceSubnet: "fd01::/108"}, only, "the pod and Service subnets are not IPv4, or are too small"},
		{preflight.Want{PodSubnet: "fd00::/48", ServiceSubnet: "fd01::/108", Managed: true}, only, ""},
		{preflight.Want{PodSubnet: "fd00::/48"}, preflight.Choice{Only: []string{"swap"}}, ""},
	} {
		if asked := ask(t.Context(), s, &tc.want, tc.choice, f, func() facts.Outcome { return facts.Outcome{} }); asked.PodPath.Outcome.Skipped != tc.said || asked.PodPath.Outcome.Done {
			t.Errorf("%+v: %+v", tc.want, asked.PodPath)
		}
	}
	if got := ipv4Of("fd00::/48, 10.244.0.0/16").String(); got != "10.244.0.0/16" {
		t.Error(got)
	}
}

func TestMeasureDisk(t *testing.T) {
	dir := t.TempDir()
	if took, outcome := measureDisk(t.Context(), dir+"/not/yet"); !outcome.Done || outcome.Failed != "" || took <= 0 {
		t.Errorf("took %s, %+v", took, outcome)
	}
	if _, outcome := measureDisk(t.Context(), "/proc/1/task"); !outcome.Done || outcome.Failed == "" {
		t.Errorf("a disk that cannot be written: %+v", outcome)
	}
}

// TestNetworkModulesAreSurveyed: the facts have all kernel modules that a plugin requires.
func TestNetworkModulesAreSurveyed(t *testing.T) {
	h, err := replay.Host([]byte("-- fs/proc/sys/kernel/osrelease --\n5.14.0\n-- fs/lib/modules/5.14.0/modules.builtin --\n-- fs/lib/modules/5.14.0/modules.dep --\n"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := facts.Gather(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range cni.AllNeeds() {
		for module := range n.Modules {
			if _, known := f.Modules[module]; !known {
				t.Errorf("%s requires %s, which is missing in the facts: %v", n.Plugin, module, f.Modules)
			}
		}
	}
}
