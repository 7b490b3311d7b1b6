package batches

// Host is a worker that is to be changed.
type Host struct {
	Name string
	Rack string
	GPU  bool
}

// Batch has workers that are changed at the same time.
type Batch struct {
	Hosts  []string
	Canary bool // it has one worker, whose failure saves the others
}

// Policy says how workers are divided.
type Policy struct {
	Size   int
	ByRack bool
	// Proved: a worker without GPUs, or one with GPUs, was changed before. It needs no canary.
	Proved, ProvedGPU bool
}

// Plan divides the workers, which are in the order of airgap.yaml, into batches. Workers with GPUs are last: they are
// few, and their driver changes too. The first worker of each kind is a canary: it is alone in its batch.
func Plan(hosts []Host, p Policy) []Batch {
	var all []Batch
	for _, gpu := range []bool{false, true} {
		var some []Host
		for _, h := range hosts {
			if h.GPU == gpu {
				some = append(some, h)
			}
		}
		proved := p.Proved && !gpu || p.ProvedGPU && gpu
		for i, names := range racks(some, p.ByRack) {
			if i == 0 && !proved {
				all, names = append(all, Batch{Hosts: names[:1:1], Canary: true}), names[1:]
			}
			all = append(all, split(names, max(1, p.Size))...)
		}
	}
	return all
}

// racks returns the names of the hosts, by rack if asked. The racks are in the order of their first host.
func racks(hosts []Host, byRack bool) [][]string {
	var all [][]string
	at := map[string]int{}
	for _, h := range hosts {
		rack := ""
		if byRack {
			rack = h.Rack
		}
		i, seen := at[rack]
		if !seen {
			i = len(all)
			at[rack], all = i, append(all, nil)
		}
		all[i] = append(all[i], h.Name)
	}
	return all
}

func split(names []string, size int) []Batch {
	var all []Batch
	for len(names) > 0 {
		n := min(size, len(names))
		all, names = append(all, Batch{Hosts: names[:n:n]}), names[n:]
	}
	return all
}

// First returns the batches of the first hosts, at most this number. The last batch may be a part of one.
func First(all []Batch, hosts int) []Batch {
	var some []Batch
	for _, b := range all {
		if hosts <= 0 {
			break
		}
		b.Hosts = b.Hosts[:min(hosts, len(b.Hosts))]
		hosts -= len(b.Hosts)
		some = append(some, b)
	}
	return some
}

// Names returns the hosts of the batches in their order.
func Names(all []Batch) []string {
	var names []string
	for _, b := range all {
		names = append(names, b.Hosts...)
	}
	return names
}
