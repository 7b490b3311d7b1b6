package hostcheck

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/nameservers"
	"airgap.dev/airgap/preflight/podpath"
)

// ask gathers the facts that do not come from files of the host, for the chosen checks. transaction returns the result
// of dnf.
func ask(ctx context.Context, s *site.Site, w *preflight.Want, choice preflight.Choice, f *facts.Facts, transaction func() facts.Outcome) facts.Asked {
	cards := facts.GPUs(gpu.Look(f.PCI, f.Driver))
	asked := facts.Asked{GPUs: &cards}
	var waits sync.WaitGroup // these wait for answers, and need little of the host
	if choice.Judges("endpoint-free", w) && w.NewEndpoint != "" {
		waits.Go(func() { asked.EndpointInUse = kubeadm.ClusterAt(ctx, w.NewEndpoint) })
	}
	if choice.Judges("name-servers", w) || choice.Judges("endpoint-name", w) || choice.Judges("cidr-overlap", w) {
		waits.Go(func() { asked.NameServers = nameservers.Ask(ctx, nameserverQuery(w, f)) })
	}
	if choice.Judges("pod-path", w) && !w.Managed {
		waits.Go(func() { asked.PodPath = podpath.Try(ctx, host.Local{}, ipv4Of(w.PodSubnet), ipv4Of(w.ServiceSubnet)) })
	}
	if existing := s.Config.Registry.Existing; existing != nil && choice.Judges("site-registry", w) {
		waits.Go(func() {
			missing, err := existing.Missing(ctx, s.Index.Lock.Images)
			asked.MissingImages, asked.MissingImagesOutcome = missing, facts.OutcomeOf(err)
		})
	}
	if choice.Judges("etcd-fsync", w) { // before dnf, which would slow down the disk
		asked.EtcdDisk, asked.EtcdDiskOutcome = measureDisk(ctx, facts.EtcdDir)
	}
	if choice.Judges("firewalld", w) || choice.Judges("nft-foreign", w) {
		asked.ClosedPorts, _ = nodesteps.ClosedPorts(ctx, s) // an unreadable packet filter is an error of the fact packetRules
	}
	asked.Transaction = transaction()
	waits.Wait()
	return asked
}

// nameserverQuery asks the servers of the host, and those behind systemd-resolved, for the names of the site.
func nameserverQuery(w *preflight.Want, f *facts.Facts) nameservers.Query {
	return nameservers.Query{
		Servers: slices.Concat(f.Resolv.Nameservers, f.Resolv.Upstream), Search: f.Resolv.Search, Names: w.SiteNames(f),
	}
}

// ipv4Of is the IPv4 network of a list of subnets; the zero value if it has none.
func ipv4Of(subnets string) netip.Prefix {
	for text := range strings.SplitSeq(subnets, ",") {
		if subnet, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil && subnet.Addr().Is4() {
			return subnet
		}
	}
	return netip.Prefix{}
}

// measureDisk measures the sync latency of etcd's disk, unless etcd already uses it. Three seconds are sufficient
// to find a slow disk.
func measureDisk(ctx context.Context, dir string) (time.Duration, facts.Outcome) {
	if _, err := os.Stat(filepath.Join(dir, "member")); err == nil {
		return 0, facts.Outcome{Skipped: "etcd already uses this disk"}
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
	}
	took, err := host.SyncLatency(ctx, dir, 3*time.Second)
	return took, facts.OutcomeOf(err)
}
