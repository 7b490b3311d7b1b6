package preflight

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/agents"
	"airgap.dev/airgap/preflight/facts"
)

var segmentation = Check{
	ID: "segmentation-agent", Title: "No agent replaces the rules of the packet filter", Source: "Illumio VEN and Cisco Secure Workload: the agent removes the rules of others unless it is set to coexist",
	Breaks: "The agent deletes the rules of kube-proxy and the network plugin: Services and pods do not answer.",
	Needs:  []string{"agents", "packetRules", "savedRules"}, Run: judgeSegmentation,
}

// judgeSegmentation fails for a known agent until the site confirms it, because its mode is only known
// to its management server. An unknown owner of chains is a warning: it may be such an agent.
func judgeSegmentation(f *facts.Facts, _ *Want) Result {
	var known []string
	for _, a := range f.Agents.Known {
		if a.Filters {
			known = append(known, a.String())
		}
	}
	owners := unknownOwners(f)
	owned := map[string]bool{}
	for _, key := range owners {
		at := strings.SplitN(key, " ", 3) // "ip filter INPUT"
		if owner := agents.OwnerOf(at[1], at[2]); owner != "" && !owned[owner] {
			owned[owner] = true
			known = append(known, fmt.Sprintf("%s owns chain %s of table %s %s", owner, at[2], at[0], at[1]))
		}
	}
	switch {
	case len(known) > 0:
		return Result{Fail, strings.Join(known, "; "), "no agent that deletes the rules of others, or the site's confirmation",
			"ask the agent's administrators for its mode for Kubernetes (coexistence, or preserve rules); then confirm it with preflight.checks.segmentation-agent.severity: warn in airgap.yaml"}
	case len(owners) > 0:
		return Result{Warn, fmt.Sprintf("%d chains of an unknown owner: %s", len(owners), strings.Join(owners[:min(len(owners), 5)], ", ")), "a known owner of each chain",
			"ask the host's administrators which program creates them, and whether it deletes the rules of others"}
	}
	return pass("none found")
}

// unknownOwners are chains that neither a known program nor a saved file of the site has made.
func unknownOwners(f *facts.Facts) []string {
	var saved []string
	for _, s := range f.PacketRules.Saved {
		saved = append(saved, s.Rules.Chains...)
	}
	return slices.DeleteFunc(slices.Clone(f.PacketRules.Now.Chains), func(key string) bool {
		return strings.Count(key, " ") < 2 || knownOwners.MatchString(key) || slices.Contains(saved, key)
	})
}

// knownOwners matches tables and chains of the distribution and of programs that leave the rules of
// others alone: iptables, firewalld, Docker, Podman, libvirt, NetworkManager, fail2ban, systemd.
var knownOwners = regexp.MustCompile(`^(ip6?|inet|arp|bridge|netdev) (firewalld |(filter|nat|mangle|raw|security|broute) (INPUT|OUTPUT|FORWARD|PREROUTING|POSTROUTING|BROUTING)$|` +
	`\S+ (DOCKER|LIBVIRT_|NETAVARK|nm-|f2b-|sshguard|crio)|(docker-bridges|libvirt\S*|netavark|nm-\S+|f2b-table|io\.systemd\.nat|sshguard) |` +
	`\S+ (INPUT|FORWARD|OUTPUT|IN|FWDI|FWDO|POST|PRE|PREROUTING|POSTROUTING)_\S+$|\S+ (FWD[IO]|IN|POST|PRE)_)`)
