package papers

import (
	"cmp"
	"maps"
	"slices"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/reference"
)

// Origin is a host that contents come from, with the licences that the contents state and
// the terms of the host.
type Origin struct {
	Host     string
	Terms    string   // address of the terms or of the licence; "" if airgap knows none
	Items    int      // images, packages, files and charts
	Licences []string // as the contents state them, sorted
	Unstated int      // items that state no licence
}

// terms has the terms of hosts, for the approval of a bundle.
func terms() map[string]string {
	return map[string]string{
		"developer.download.nvidia.com": "https://www.nvidia.com/en-us/drivers/nvidia-license/ (driver), https://docs.nvidia.com/cuda/eula/ (CUDA)",
		"nvcr.io":                       "https://ngc.nvidia.com/legal/terms",
		"nvidia.github.io":              "https://github.com/NVIDIA/nvidia-container-toolkit/blob/main/LICENSE",
		"docker.io":                     "https://www.docker.com/legal/docker-terms-service/",
		"download.docker.com":           "https://www.docker.com/legal/docker-terms-service/",
		"quay.io":                       "https://www.redhat.com/en/about/agreements",
		"registry.redhat.io":            "https://www.redhat.com/en/about/agreements (requires a subscription)",
		"cdn.redhat.com":                "https://www.redhat.com/en/about/agreements (requires a subscription)",
		"registry.k8s.io":               "https://github.com/kubernetes/kubernetes/blob/master/LICENSE",
		"pkgs.k8s.io":                   "https://github.com/kubernetes/kubernetes/blob/master/LICENSE",
		"dl.k8s.io":                     "https://github.com/kubernetes/kubernetes/blob/master/LICENSE",
		"github.com":                    "https://docs.github.com/en/site-policy/github-terms/github-terms-of-service",
		"ghcr.io":                       "https://docs.github.com/en/site-policy/github-terms/github-terms-of-service",
	}
}

// Origins lists the hosts of a lock, sorted by name. A licence is the text that the
// package, the image or the chart has; airgap does not judge it.
func Origins(l bundle.Lock) []Origin {
	known, byHost := terms(), map[string]*Origin{}
	add := func(host, licence string) {
		host = cmp.Or(host, "the connected host")
		o := byHost[host]
		if o == nil {
			o = &Origin{Host: host, Terms: known[host]}
			byHost[host] = o
		}
		o.Items++
		if licence == "" {
			o.Unstated++
		} else if !slices.Contains(o.Licences, licence) {
			o.Licences = append(o.Licences, licence)
		}
	}
	for _, i := range l.Images {
		host, _ := reference.SplitHost(i.Name)
		add(host, i.License)
	}
	for _, p := range l.Packages {
		add(hostOf(p.URL), p.License)
	}
	for _, f := range l.Files {
		add(hostOf(f.URL), "")
	}
	for _, a := range l.Applied() {
		if a.Chart != nil {
			add(hostOf(a.Chart.Repository), a.Chart.License)
		}
	}
	var all []Origin
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		slices.Sort(byHost[host].Licences)
		all = append(all, *byHost[host])
	}
	return all
}
