package kubeadm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/runtime"
)

const overriddenTimes = `{clusterConfiguration: {etcd: {local: {extraArgs: [{name: election-timeout, value: "%s"}]}}}}`

// TestElectionTimeout: etcd's default, unless the site or airgap sets the argument.
func TestElectionTimeout(t *testing.T) {
	for over, want := range map[string]time.Duration{"": time.Second, "2500": 2500 * time.Millisecond, "5s": time.Second, "-1": time.Second} {
		c := section(t, "version: 1.36.3")
		if over != "" {
			c = section(t, "{version: 1.36.3, overrides: "+fmt.Sprintf(overriddenTimes, over)+"}")
		}
		assert.Equal(t, want, c.ElectionTimeout(), over)
		assert.Equal(t, over != "", c.SetsEtcdTimes(), over)
	}
	variable := section(t, "{version: 1.36.3, overrides: {clusterConfiguration: {etcd: {local: {extraEnvs: [{name: ETCD_ELECTION_TIMEOUT, value: '3000'}]}}}}}")
	assert.Equal(t, 3*time.Second, variable.ElectionTimeout())
	assert.True(t, variable.SetsEtcdTimes())
	c := section(t, "{version: 1.36.3, etcd: {heartbeatInterval: 150ms}}")
	assert.Equal(t, 1500*time.Millisecond, c.ElectionTimeout())
	assert.True(t, c.SetsEtcdTimes())
}

// TestEtcdTimesFor: the heartbeat interval is one round trip to one and a half, the election timeout at least ten, and
// not above etcd's limit. The defaults stay where they fit.
func TestEtcdTimesFor(t *testing.T) {
	for _, trip := range []time.Duration{0, time.Millisecond, 100 * time.Millisecond, 4996 * time.Millisecond, time.Minute} {
		assert.Zero(t, EtcdTimesFor(trip), trip)
	}
	assert.Equal(t, EtcdTimes{"150ms", "1.5s"}, EtcdTimesFor(143*time.Millisecond))
	for trip := 101 * time.Millisecond; trip < 4995*time.Millisecond; trip += 7 * time.Millisecond {
		c := Config{Etcd: EtcdTimesFor(trip)}
		require.Empty(t, c.Etcd.Validate(field.NewPath("etcd")), trip)
		heartbeat, err := time.ParseDuration(c.Etcd.HeartbeatInterval)
		require.NoError(t, err)
		assert.True(t, heartbeat >= trip && 2*heartbeat <= 3*trip, "%s for %s", heartbeat, trip)
		assert.GreaterOrEqual(t, c.ElectionTimeout(), BeatsOfElection*trip, trip)
	}
}

func TestEtcdTimesValidate(t *testing.T) {
	for text, want := range map[string][]string{
		"{}":                                                  nil,
		"{heartbeatInterval: 150ms}":                          nil,
		"{electionTimeout: 3s}":                               nil,
		"{heartbeatInterval: 5s}":                             nil,
		"{heartbeatInterval: 150}":                            {`etcd.heartbeatInterval: Invalid value: "150": expected whole milliseconds from 10ms to 5s, such as 150ms`},
		"{heartbeatInterval: 1.5ms}":                          {"etcd.heartbeatInterval"},
		"{heartbeatInterval: 10.5ms}":                         {"etcd.heartbeatInterval"},
		"{heartbeatInterval: 6s}":                             {"etcd.heartbeatInterval"},
		"{electionTimeout: 500ms}":                            {`etcd.electionTimeout: Invalid value: "500ms": expected whole milliseconds from 1s to 50s, such as 1s`},
		"{heartbeatInterval: 200ms, electionTimeout: 1999ms}": {"etcd.electionTimeout: Invalid value: \"1999ms\": expected whole milliseconds from 2s to 50s"},
		"{heartbeatInterval: 200ms, electionTimeout: 51s}":    {"etcd.electionTimeout"},
	} {
		c := section(t, "{version: 1.36.3, etcd: "+text+"}")
		hosttest.Compare(t, c.Validate(field.NewPath("kubernetes")), want)
	}
	both := section(t, "{version: 1.36.3, etcd: {heartbeatInterval: 150ms}, overrides: "+fmt.Sprintf(overriddenTimes, "1500")+"}")
	hosttest.Compare(t, both.Validate(field.NewPath("kubernetes")), []string{"kubernetes.etcd: Forbidden: kubernetes.overrides.clusterConfiguration.etcd.local has heartbeat-interval"})
}

// TestEtcdManifest: kubeadm starts etcd with the times. Without times, etcd has its defaults.
func TestEtcdManifest(t *testing.T) {
	program := hosttest.LabProgram(t, "kubernetes/kubeadm")
	for text, want := range map[string]string{
		"{}":                         "",
		"{heartbeatInterval: 150ms}": "--heartbeat-interval=150 --election-timeout=1500",
		"{electionTimeout: 2500ms}":  "--heartbeat-interval=100 --election-timeout=2500",
	} {
		document, err := InitDocuments(section(t, "{version: 1.36.3, etcd: "+text+"}"), Node{Name: "cp1", Address: "192.0.2.11", ControlPlane: true}, runtime.Facts{OS: "el9", Driver: runtime.Systemd})
		require.NoError(t, err)
		dir := t.TempDir()
		file := filepath.Join(dir, "kubeadm.yaml")
		require.NoError(t, os.WriteFile(file, document, 0o600))
		_, err = host.Local{}.Run(t.Context(), host.Cmd{Name: program, Args: []string{"init", "phase", "etcd", "local", "--dry-run", "--config", file}, Env: []string{"KUBEADM_INIT_DRYRUN_DIR=" + dir}})
		require.NoError(t, err)
		manifest, err := os.ReadFile(filepath.Join(dir, "etcd.yaml"))
		require.NoError(t, err)
		var pod struct {
			Spec struct{ Containers []struct{ Command []string } }
		}
		require.NoError(t, yaml.Unmarshal(manifest, &pod))
		var times []string
		for _, arg := range pod.Spec.Containers[0].Command {
			if strings.HasPrefix(arg, "--"+heartbeatArg) || strings.HasPrefix(arg, "--"+electionArg) {
				times = append(times, arg)
			}
		}
		assert.Equal(t, want, strings.Join(times, " "), text)
	}
}
