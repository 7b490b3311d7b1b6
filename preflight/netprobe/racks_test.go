package netprobe

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inRacks returns hosts of racks with these sizes, in the order of the racks.
func inRacks(sizes ...int) []Host {
	var hosts []Host
	for rack, size := range sizes {
		for range size {
			i := len(hosts)
			hosts = append(hosts, Host{Name: fmt.Sprintf("h%d", i), Address: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), Rack: fmt.Sprintf("r%d", rack)})
		}
	}
	return hosts
}

func equalRacks(racks, size int) []int { return slices.Repeat([]int{size}, racks) }

// TestPeersAcrossRacks: every two racks have a tested pair, in both directions. No host tests
// itself, all test the same number of hosts, and every host computes the same pairs.
func TestPeersAcrossRacks(t *testing.T) {
	for name, hosts := range map[string][]Host{
		"10 racks of 10":       inRacks(equalRacks(10, 10)...),
		"25 racks of 4":        inRacks(equalRacks(25, 4)...),
		"50 racks of 2":        inRacks(equalRacks(50, 2)...),
		"20 racks of 20":       inRacks(equalRacks(20, 20)...),
		"40 racks of 25":       inRacks(equalRacks(40, 25)...),
		"one rack":             inRacks(120),
		"two racks":            inRacks(3, 97),
		"odd number":           inRacks(17, 17, 17, 5, 1),
		"single hosts in some": inRacks(1, 1, 1, 40, 30, 30, 2),
		"300 hosts, 9 racks":   inRacks(25, 35, 25, 35, 45, 50, 35, 49, 1),
	} {
		t.Run(name, func(t *testing.T) {
			for _, seed := range []uint64{0, 1} {
				list := slices.Clone(hosts)
				if seed > 0 { // airgap.yaml need not list hosts rack by rack
					rand.New(rand.NewPCG(seed, 0)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				}
				checkPeers(t, list)
			}
		})
	}
}

func checkPeers(t *testing.T, hosts []Host) {
	t.Helper()
	plan := Plan{Hosts: hosts, Pairs: DefaultPairs}
	each := len(plan.Peers(0))
	m := newPairing(hosts, min(max(DefaultPairs/len(hosts), minPeers), len(hosts)-1))
	met := map[rackPair]bool{}
	for i := range hosts {
		peers := m.others[i]
		if i%64 == 0 {
			assert.ElementsMatch(t, peers, plan.Peers(i))
		}
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(peers))), each, "host %d", i)
		require.NotContains(t, peers, i)
		for _, to := range peers {
			require.Contains(t, m.others[to], i, "%d tests %d, but not the other way", i, to)
			met[m.pair(i, to)] = true
		}
	}
	assert.LessOrEqual(t, len(hosts)*each, DefaultPairs+len(hosts)*minPeers)
	for a := range m.in {
		for b := range a {
			assert.True(t, met[rackPair{b, a}], "no test between racks of %v and %v", m.in[b], m.in[a])
		}
	}
}

// TestPathPeers: a host measures paths to a few of its peers. Every two racks have a path, control-plane hosts have all
// paths between them, and paths are symmetric.
func TestPathPeers(t *testing.T) {
	for name, hosts := range map[string][]Host{
		"10 racks of 10":     inRacks(equalRacks(10, 10)...),
		"25 racks of 4":      inRacks(equalRacks(25, 4)...),
		"one rack":           inRacks(120),
		"two racks":          inRacks(3, 97),
		"300 hosts, 9 racks": inRacks(25, 35, 25, 35, 45, 50, 35, 49, 1),
	} {
		t.Run(name, func(t *testing.T) {
			for _, i := range []int{0, 2, len(hosts) / 2, len(hosts) - 1} {
				hosts[i].ControlPlane = true
			}
			plan := Plan{Hosts: hosts, Pairs: DefaultPairs}
			m, met, all := plan.pairing(), map[rackPair]bool{}, 0
			for i, to := range m.paths(mostPaths) {
				all += len(to)
				for _, j := range to {
					require.Contains(t, m.others[i], j)
					require.Contains(t, m.paths(mostPaths)[j], i)
					met[m.pair(i, j)] = true
				}
				for j, h := range hosts {
					if i != j && hosts[i].ControlPlane && h.ControlPlane {
						require.Contains(t, to, j)
					}
				}
			}
			assert.LessOrEqual(t, all, len(hosts)*(mostPaths+4))
			for pair, tests := range m.tested {
				assert.True(t, met[pair] || tests == 0 || pair[0] == pair[1], "no path between racks %v", pair)
			}
		})
	}
	few := Plan{Hosts: inRacks(3, 3), Pairs: DefaultPairs}
	assert.Equal(t, few.Peers(1), few.PathPeers(1))
}

// TestMoreRacksThanTests: then every test is between other racks, and nothing takes long.
func TestMoreRacksThanTests(t *testing.T) {
	hosts := inRacks(equalRacks(3000, 1)...)
	m := newPairing(hosts, minPeers)
	assert.Len(t, m.tested, len(hosts)*minPeers/2)
}

// TestRacksBySubnet: without racks in airgap.yaml, subnets take their place.
func TestRacksBySubnet(t *testing.T) {
	var hosts []Host
	for i := range 90 {
		hosts = append(hosts, Host{Address: netip.AddrFrom4([4]byte{10, 0, byte(i % 30), byte(i)})})
	}
	checkPeers(t, hosts)
	m := newPairing(hosts, 27)
	assert.Len(t, m.in, 30)
	hosts[0].Rack, hosts[1].Rack = "a", "a"
	assert.Len(t, newPairing(hosts, 27).in, 31)
}

// TestRacksTested counts the pairs of racks with a result.
func TestRacksTested(t *testing.T) {
	m := &Matrix{Hosts: inRacks(2, 1, 1), Verdicts: []Verdict{{From: 0, To: 1}, {From: 0, To: 2}, {From: 2, To: 1}}}
	pairs, tested := m.Racks()
	assert.Equal(t, []int{3, 1}, []int{pairs, tested})
}
