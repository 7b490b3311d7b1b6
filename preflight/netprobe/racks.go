package netprobe

import (
	"slices"
)

// subnetBits is the usual size of a rack's subnet, for hosts without a rack in the plan.
const subnetBits = 24

// rack is the rack of a host. Hosts of one subnet without a rack count as one.
func (h Host) rack() string {
	if h.Rack != "" {
		return "rack " + h.Rack
	}
	subnet, err := h.Address.Prefix(subnetBits)
	if err != nil {
		return ""
	}
	return subnet.String()
}

// rackPair is a pair of racks by their numbers, the smaller one first, or a rack with itself.
type rackPair [2]int

func pairOfRacks(a, b int) rackPair { return rackPair{min(a, b), max(a, b)} }

// pairing says which hosts test each other, if not all do. All hosts compute the same one from the
// plan.
type pairing struct {
	racks   []int   // of each host
	control []bool  // whether each host is a control-plane host
	in      [][]int // hosts of each rack
	others  [][]int // hosts that each host tests
	tested  map[rackPair]int
}

// newPairing lets each host test the same number of others, and these hosts test it, too: a ring of
// all hosts, rack by rack, in which each host tests those at certain distances. Then it exchanges
// pairs until every two racks have one, unless there are more racks than tests.
func newPairing(hosts []Host, each int) *pairing {
	m := &pairing{others: make([][]int, len(hosts)), tested: map[rackPair]int{}}
	m.sort(hosts)
	ring := slices.Concat(m.in...)
	distances := offsets(len(hosts), each)
	for at, host := range ring {
		for _, distance := range distances {
			other := ring[(at+distance)%len(ring)]
			m.others[host] = append(m.others[host], other)
			if host < other {
				m.tested[m.pair(host, other)]++
			}
		}
	}
	if racks := len(m.in); racks*(racks-1) <= len(hosts)*len(distances) {
		for a := range m.in {
			for b := range a {
				if m.tested[rackPair{b, a}] == 0 {
					m.join(b, a)
				}
			}
		}
	}
	m.joinControlPlane()
	return m
}

// joinControlPlane lets each two control-plane hosts test each other: members of etcd need all of these paths.
func (m *pairing) joinControlPlane() {
	for i := range m.control {
		for j := range i {
			if m.control[i] && m.control[j] && !slices.Contains(m.others[i], j) {
				m.others[i], m.others[j] = append(m.others[i], j), append(m.others[j], i)
				m.tested[m.pair(i, j)]++
			}
		}
	}
}

// sort numbers the racks in the order of the plan.
func (m *pairing) sort(hosts []Host) {
	numbers := map[string]int{}
	for i, h := range hosts {
		number, known := numbers[h.rack()]
		if !known {
			number = len(m.in)
			numbers[h.rack()], m.in = number, append(m.in, nil)
		}
		m.control = append(m.control, h.ControlPlane)
		m.racks, m.in[number] = append(m.racks, number), append(m.in[number], i)
	}
}

func (m *pairing) pair(i, j int) rackPair { return pairOfRacks(m.racks[i], m.racks[j]) }

// join exchanges two pairs of hosts, i-x and j-y, for i-j between the two racks and x-y. Every host
// keeps its number of tests. A pair of racks keeps at least one test.
func (m *pairing) join(a, b int) {
	from, to := m.spares(a), m.spares(b)
	for _, one := range from {
		for _, two := range to {
			i, x, j, y := one[0], one[1], two[0], two[1]
			if x != y && !slices.Contains(m.others[x], y) && m.spare(m.pair(i, x), m.pair(j, y)) {
				m.exchange(i, x, j, y)
				return
			}
		}
	}
}

// spares are the pairs of a rack's hosts with others between racks that have more than one.
func (m *pairing) spares(rack int) [][2]int {
	var found [][2]int
	for _, i := range m.in[rack] {
		for _, x := range m.others[i] {
			if m.tested[m.pair(i, x)] > 1 {
				found = append(found, [2]int{i, x})
			}
		}
	}
	return found
}

// spare reports whether both pairs of racks have another test.
func (m *pairing) spare(one, two rackPair) bool {
	least := 2
	if one == two {
		least = 3
	}
	return m.tested[one] >= least && m.tested[two] >= least
}

func (m *pairing) exchange(i, x, j, y int) {
	replace := func(of, before, after int) {
		m.others[of][slices.Index(m.others[of], before)] = after
	}
	replace(i, x, j)
	replace(x, i, y)
	replace(j, y, i)
	replace(y, j, x)
	m.tested[m.pair(i, x)]--
	m.tested[m.pair(j, y)]--
	m.tested[m.pair(i, j)]++
	m.tested[m.pair(x, y)]++
}

// mostPaths is the number of paths of a host if not all pairs of hosts are tested: a path takes most of the time and of
// the packets of a pair. A host can have more, because every two racks have a path.
const mostPaths = 8

// paths returns the hosts to which each host measures the path, and back: first for each two racks and for each two
// control-plane hosts, then others until every host has about most.
func (m *pairing) paths(most int) [][]int {
	chosen := make([][]int, len(m.others))
	met := map[rackPair]bool{}
	take := func(i, j int) {
		if !slices.Contains(chosen[i], j) {
			chosen[i], chosen[j] = append(chosen[i], j), append(chosen[j], i)
			met[m.pair(i, j)] = true
		}
	}
	for i, others := range m.others {
		for _, j := range others {
			if m.control[i] && m.control[j] || m.racks[i] != m.racks[j] && !met[m.pair(i, j)] {
				take(i, j)
			}
		}
	}
	for _, sameRack := range []bool{false, true} {
		for i, others := range m.others {
			for _, j := range others {
				if len(chosen[i]) < most && len(chosen[j]) < most && (m.racks[i] == m.racks[j]) == sameRack {
					take(i, j)
				}
			}
		}
	}
	return chosen
}

// Racks returns the number of pairs of racks, and how many of them have a tested pair of hosts.
func (m *Matrix) Racks() (pairs, tested int) {
	var sorted pairing
	sorted.sort(m.Hosts)
	seen := map[rackPair]bool{}
	for _, v := range m.Verdicts {
		if pair := sorted.pair(v.From, v.To); pair[0] != pair[1] {
			seen[pair] = true
		}
	}
	racks := len(sorted.in)
	return racks * (racks - 1) / 2, len(seen)
}
