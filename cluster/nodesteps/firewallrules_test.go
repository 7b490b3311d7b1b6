package nodesteps

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/internal/step"
)

// TestFirewallRules: the installation stops, with the rule, if a rule still closes ports after they were
// opened in firewalld. The default firewalld, which that step opens, does not stop it.
func TestFirewallRules(t *testing.T) {
	text, err := os.ReadFile("../../preflight/packetfilter/testdata/firewalld.nft")
	require.NoError(t, err)
	firewalld := string(text)
	deny := "\tchain filter_IN_public_deny {\n"
	const services = "table ip filter {\nchain INPUT {\ntype filter hook input priority filter; policy accept;\nct state related,established accept\nip protocol icmp accept\n" +
		"iifname \"lo\" accept\ntcp dport 22 accept\nreject with icmp type host-prohibited\n}\n}\n"
	for name, tc := range map[string]struct {
		rules   string
		stopped bool   // firewalld
		says    string // "" for no error
	}{
		"no rules":               {},
		"firewalld as installed": {rules: firewalld},
		"firewalld does not run": {rules: firewalld, stopped: true, says: "filter_IN_public"},
		"a rich rule of firewalld": {
			rules: strings.Replace(firewalld, deny, deny+"ip saddr 192.0.2.11 tcp dport 10250 drop\n", 1),
			says:  `10250/tcp (kubelet): closed by "ip saddr 192.0.2.11 tcp dport 10250 drop" in chain filter_IN_public_deny of table inet firewalld`,
		},
		"a rule for another host": {rules: strings.Replace(firewalld, deny, deny+"ip saddr 192.0.2.99 drop\n", 1)},
		"iptables-services": {
			rules: services, says: `10250/tcp (kubelet), 10256/tcp (kube-proxy health), 8472/udp (VXLAN): closed by "reject with icmp type host-prohibited" in chain INPUT of table ip filter`,
		},
		"iptables-services opens ours":   {rules: strings.Replace(services, "tcp dport 22", "ip saddr 192.0.2.0/24", 1)},
		"iptables-services opens others": {rules: strings.Replace(services, "tcp dport 22", "ip saddr @site", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := hosttest.New(t)
			f.Answers["nft"] = func(host.Cmd) ([]byte, error) { return []byte(tc.rules), nil }
			f.Answers["ip -json address"] = func(host.Cmd) ([]byte, error) {
				return []byte(`[{"ifname":"ens192","addr_info":[{"local":"192.0.2.12"}]}]`), nil
			}
			if tc.stopped {
				f.Fails("systemctl is-active", 3, "")
			}
			s := sitetest.SettingsSite(t, "")
			s.Machine.Machine = m
			_, err := step.Run(t.Context(), step.OpenJournal(t.TempDir()+"/journal"), []step.Step{rulesStep(s)}, func(step.Event) {})
			if tc.says == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tc.says)
			lines, err := rulesStep(s).Plan(t.Context())
			assert.NoError(t, err)
			assert.Contains(t, strings.Join(lines, "\n"), tc.says)
		})
	}
}
