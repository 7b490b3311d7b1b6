package preflight

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/unitfile"
)

var proxyEnv = Check{
	ID: "proxy-env", Title: "The cluster's addresses bypass the proxy", Source: "kubeadm HTTPProxyCheck",
	Breaks: "The kubelet or kubectl sends requests for the API server to a proxy, and the proxy cannot reach it.",
	Needs:  []string{"proxies", "manager", "unitFiles"}, Run: judgeProxies,
}

// judgeProxies fails if the kubelet would use the proxy from systemd's environment for another node.
// The unit of the runtime unsets proxies, and airgap runs dnf without a proxy. The pod and Service
// subnets are only a warning: kubectl and other programs of the host use them.
func judgeProxies(f *facts.Facts, w *Want) Result {
	shells, files := map[string]string{}, []string{}
	for _, p := range f.Proxies {
		shells[p.Name] = p.Value
		if !strings.EqualFold(p.Name, "no_proxy") && !slices.Contains(files, p.File) {
			files = append(files, p.File)
		}
	}
	managers, own, from := kubeletProxies(f)
	later, laterFrom := laterProxies(f)
	const manager = "in DefaultEnvironment of /etc/systemd/system.conf or its drop-ins, then systemctl daemon-reexec"
	hosts, subnets := append([]string{w.NodeAddress}, w.OtherAddresses...), w.subnets()
	for _, environment := range []struct {
		status    Status
		variables map[string]string
		hosts     []string
		where     string
		fix       string
	}{
		{Fail, own, hosts, from, "there, then systemctl daemon-reload"},
		{Fail, managers, hosts, "systemd's environment", manager},
		{Fail, later, hosts, laterFrom + ", from the next boot on,", manager},
		{Warn, own, subnets, from, "there, then systemctl daemon-reload"},
		{Warn, managers, subnets, "systemd's environment", manager},
		{Warn, later, subnets, laterFrom + ", from the next boot on,", manager},
		{Warn, shells, slices.Concat(hosts, subnets), strings.Join(files, ", "), "there"},
	} {
		if through := throughProxy(environment.variables, environment.hosts); len(through) > 0 {
			if environment.status == Fail {
				through = append(through, throughProxy(environment.variables, subnets)...)
			}
			return Result{environment.status, fmt.Sprintf("%s sets a proxy that also applies to %s", environment.where, strings.Join(through, ", ")),
				"no proxy for the cluster's addresses", "add to no_proxy " + environment.fix + ": " + strings.Join(through, ",")}
		}
	}
	if len(files)+len(managers)+len(own) > 0 {
		return pass("none for the cluster's addresses")
	}
	return pass("none")
}

// subnets are the pod and Service subnets.
func (w *Want) subnets() []string {
	return strings.FieldsFunc(w.PodSubnet+","+w.ServiceSubnet, func(r rune) bool { return r == ',' || r == ' ' })
}

// throughProxy lists the hosts and networks for which these variables set a proxy.
func throughProxy(variables map[string]string, hosts []string) []string {
	proxy := false
	var exempt, through []string
	for name, value := range variables {
		if strings.EqualFold(name, "no_proxy") {
			exempt = append(exempt, strings.Split(value, ",")...)
		} else {
			proxy = proxy || value != ""
		}
	}
	for _, host := range hosts {
		if proxy && host != "" && !exempts(exempt, host) && !slices.Contains(through, host) {
			through = append(through, host)
		}
	}
	return through
}

// exempts reports whether a list such as no_proxy contains the host: by its name, its domain, its
// address, or its network. The host can be a network, which a larger network contains.
func exempts(list []string, host string) bool {
	address, errAddress := netip.ParseAddr(host)
	wanted, errNetwork := netip.ParsePrefix(host)
	return slices.ContainsFunc(list, func(item string) bool {
		item = strings.TrimSpace(item)
		if network, err := netip.ParsePrefix(item); err == nil {
			return errAddress == nil && network.Contains(address) || errNetwork == nil && network.Bits() <= wanted.Bits() && network.Contains(wanted.Addr())
		}
		domain := strings.TrimPrefix(strings.TrimPrefix(item, "*"), ".")
		return item == "*" || item == host || domain != "" && strings.HasSuffix(host, "."+domain)
	})
}

// laterProxies returns the proxy variables that systemd gives the kubelet from the next boot on, and
// the place of the last one. An empty DefaultEnvironment= resets the earlier ones.
func laterProxies(f *facts.Facts) (later map[string]string, from string) {
	later = map[string]string{}
	for _, s := range unitfile.Order(f.UnitFiles, "Manager", "systemd") {
		if s.Key != "DefaultEnvironment" {
			continue
		}
		if s.Value == "" {
			clear(later)
		}
		for word := range strings.FieldsSeq(s.Value) {
			if name, proxy, _ := strings.Cut(word, "="); facts.IsProxy(name) {
				later[name], from = strings.Trim(proxy, `"'`), s.At()
			}
		}
	}
	for _, s := range f.SettingsOf("kubelet") {
		if s.Key == "UnsetEnvironment" {
			for name := range strings.FieldsSeq(s.Value) {
				delete(later, name)
			}
		}
	}
	return later, from
}

// kubeletProxies returns the proxy variables that the kubelet gets from systemd, the ones that its
// files set, and the place of the latter. Files of EnvironmentFile= override Environment=, and UnsetEnvironment removes a variable in any case
// (systemd.exec(5)). An empty Environment= resets the earlier ones.
func kubeletProxies(f *facts.Facts) (managers, own map[string]string, from string) {
	managers, own = maps.Clone(f.Manager.Proxy), map[string]string{}
	var unset []string
	add := func(words string, s unitfile.Placed) {
		for word := range strings.FieldsSeq(words) {
			if name, proxy, _ := strings.Cut(word, "="); facts.IsProxy(name) {
				own[name] = strings.Trim(proxy, `"'`)
				if !strings.EqualFold(name, "no_proxy") {
					from = s.At()
				}
			}
		}
	}
	for _, s := range f.SettingsOf("kubelet") {
		switch {
		case s.Key == "UnsetEnvironment":
			unset = append(unset, strings.Fields(s.Value)...)
		case s.Key == "Environment" && s.Value == "":
			clear(own)
		case s.Key == "Environment":
			add(s.Value, s)
		}
	}
	for _, u := range f.UnitFiles {
		for _, s := range u.Settings {
			if u.Unit == "kubelet" && u.Kind == facts.EnvironmentFile {
				add(s.String(), unitfile.Placed{Setting: s, File: u})
			}
		}
	}
	for _, name := range unset {
		delete(managers, name)
		delete(own, name)
	}
	if own["no_proxy"]+own["NO_PROXY"] == "" { // the kubelet also gets systemd's exceptions
		for name, value := range managers {
			if strings.EqualFold(name, "no_proxy") {
				own[name] = value
			}
		}
	}
	return managers, own, from
}
