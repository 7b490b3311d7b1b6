// Package agents knows security agents by their effects, and by the names of their units, programs,
// kernel modules and chains. It reads text and runs no program.
package agents

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Agents are the traces of security agents: their effects, then their names.
type Agents struct {
	// Known are agents with a known unit or program: "CrowdStrike Falcon (falcon-sensor.service)".
	Known []Agent `yaml:"known,omitempty" json:"known,omitempty"`
	// Watchers are the programs that the kernel asks, or tells, about opened files (fanotify).
	Watchers []Watcher `yaml:"watchers,omitempty" json:"watchers,omitempty"`
	// Modules are loaded kernel modules from outside the kernel's package.
	Modules []string `yaml:"modules,omitempty" json:"modules,omitempty"`
}

// Agent is a security agent that runs, or that the next boot starts.
type Agent struct {
	Product string `yaml:"product" json:"product"`
	Seen    string `yaml:"seen" json:"seen"` // "unit illumio-ven.service", "program tet-enforcer"
	// Filters is true for agents that own the packet filter, and delete the rules of others.
	Filters bool `yaml:"filters,omitempty" json:"filters,omitempty"`
	// Later is true if it does not run now, and the next boot starts it.
	Later bool `yaml:"later,omitempty" json:"later,omitempty"`
}

func (a Agent) String() string {
	if a.Later {
		return fmt.Sprintf("the next boot starts %s (%s)", a.Product, a.Seen)
	}
	return fmt.Sprintf("%s runs (%s)", a.Product, a.Seen)
}

// Watcher is a program with a fanotify group.
type Watcher struct {
	Program string `yaml:"program" json:"program"`
	Blocks  bool   `yaml:"blocks,omitempty" json:"blocks,omitempty"` // it decides about each access
}

// Host is the text from which the agents are known.
type Host struct {
	Units    string // the output of systemctl list-units
	Programs string // a name, as in /proc/PID/comm, on each line
	Modules  string // /proc/modules
	Enabled  string // the unit files that the next boot starts, one a line
}

// Find returns the agents of a host, without its watchers.
func Find(h Host) Agents {
	modules := foreign(h.Modules)
	var found Agents
	for _, p := range append(filterAgents(), scanAgents()...) {
		seen := p.seen(h.Units, h.Programs, modules)
		later := seen == ""
		if later {
			seen = p.seen(h.Enabled, "", nil)
		}
		if seen != "" {
			found.Known = append(found.Known, Agent{p.name, seen, p.chains != "", later})
			modules = slices.DeleteFunc(modules, regexp.MustCompile(p.modules).MatchString)
		}
	}
	found.Modules = modules
	return found
}

// OwnerOf is the agent of micro-segmentation that owns a table or chain; "" if none is known.
func OwnerOf(table, chain string) string {
	for _, p := range filterAgents() {
		if pattern := regexp.MustCompile(p.chains); pattern.MatchString(table) || pattern.MatchString(chain) {
			return p.name
		}
	}
	return ""
}

// Blocks reports whether the fdinfo of a fanotify group has a class that decides about accesses:
// FAN_CLASS_CONTENT (4) or FAN_CLASS_PRE_CONTENT (8).
func Blocks(fdinfo string) bool {
	m := fanotifyFlags.FindStringSubmatch(fdinfo)
	if m == nil {
		return false
	}
	flags, err := strconv.ParseUint(m[1], 16, 32)
	return err == nil && flags&0xc != 0
}

var fanotifyFlags = regexp.MustCompile(`(?m)^fanotify flags:([0-9a-f]+)`)

// product describes an agent by its unit, its program (as in /proc/PID/comm, at most 15 characters),
// its kernel modules, and its tables and chains.
type product struct {
	name, units, programs, modules, chains string
}

// filterAgents are agents of micro-segmentation: Illumio's and Cisco's documentation say that they
// remove the rules of others unless they are set to coexist.
func filterAgents() []product {
	return []product{
		{"Illumio VEN", `illumio`, `ven(AgentM|Platform|Vtap)|VtapServer|illumio`, `^$`, `(?i)^(ilo[-_]|illumio)`},
		{"Guardicore (Akamai) agent", `^gc-|guardicore`, `^gc-|guardicore`, `^$`, `(?i)^(gc[-_]|guardicore)`},
		{"Cisco Secure Workload (Tetration)", `^(csw-agent|tetd|tet-)`, `^(csw-agent|tet-(sensor|enforcer|main))`, `^$`, `^TA_`},
		{"Aqua Enforcer", `^aqua`, `^aqua|^slkd`, `^$`, `(?i)^aqua`},
		{"Prisma Cloud Defender", `twistlock|prisma`, `twistlock`, `^$`, `(?i)^twistlock`},
		{"Zscaler or Edgewise segmentation", `edgewise|zscaler`, `edgewise|zscaler`, `^$`, `(?i)^(edgewise|zscaler)`},
		{"ColorTokens Xshield", `colortokens|xshield`, `colortokens|xshield`, `^$`, `(?i)^(colortokens|xshield)`},
		{"TrueFort, vArmour or Unisys Stealth", `truefort|varmour|unisys.?stealth`, `truefort|varmour`, `^$`, `(?i)^(truefort|varmour|stealth)`},
	}
}

// scanAgents are virus scanners and agents of endpoint detection. The list of names can never be
// complete; Watchers and Modules find the others.
func scanAgents() []product {
	return []product{
		{"ClamAV on access", `clamonacc`, `clamonacc`, `^$`, ""},
		{"Trend Micro", `^(ds_agent|ds_filter|tmxbc|splx)`, `^(ds_agent|ds_am|tm_netagent|splxmain|tmxbc)`, `^(dsa_filter|gsch|tmhook|bmhook|tmumh|splxmod)`, ""},
		{"Kaspersky", `^(kesl|klnagent64?\b.*kesl|kav4fs)`, `^(kesl|kav4fs)`, `^(kav4fs|kesl)`, ""},
		{"Microsoft Defender", `^mdatp`, `^wdavdaemon`, `^$`, ""},
		{"Trellix (McAfee)", `^(mfetpd|mfeespd|ma\.service|xagt|cma)`, `^(mfetpd|mfeespd|masvc|xagt|nailsd)`, `^(mfe_|mfeaack|mfehip|linuxshield)`, ""},
		{"Sophos", `^(sophos|sav-)`, `^(savd|sophos|on_access_proce|soapd)`, `^talpa_`, ""},
		{"CrowdStrike Falcon", `^falcon-`, `^falcon-`, `^falcon_`, ""},
		{"SentinelOne", `^sentinel(one|agent|ctl)`, `^(s1-|sentinelone)`, `^(sentinel|s1_)`, ""},
		{"Carbon Black", `^(cbdaemon|cbagentd|cbsensor|b9daemon)`, `^(cbdaemon|cbagentd|cbosxsensor|event_collector|b9daemon)`, `^(cbsensor|event_collector|b9k)`, ""},
		{"Palo Alto Cortex XDR", `^(traps_pmd|cortex)`, `^(pmd$|traps_pmd|cortex-xdr)`, `^(traps|kprobe_pmd|cyvr)`, ""},
		{"Symantec", `^(sisamd|sisids|sisips|smcd|rtvscand|symcfgd|cafagent)`, `^(sisamddaemon|sisidsdaemon|sisipsdaemon|rtvscand|symcfgd|smcd)`, `^(symev|symap|sisap|sisevt|sisfim|sisips)`, ""},
		{"Cylance", `^cylance`, `^cylance`, `^(CyProtect|cyprotect)`, ""},
		{"ESET", `^(eea|efs|eraagent|esets)\b`, `^(oaeventd|esets|egui)`, `^(eset_|dazuko)`, ""},
		{"Bitdefender", `^bdsec`, `^bdsec`, `^bdsec`, ""},
		{"Cisco Secure Endpoint", `^cisco-amp`, `^ampdaemon`, `^amp(avflt|networkflow)`, ""},
		{"Elastic Defend", `elastic-?endpoint`, `(?i)^elastic-?endpoin`, `^$`, ""},
		{"WithSecure (F-Secure)", `^(f-secure|fsma|withsecure)`, `^(fsoasd|fsaccd|f-secure|withsecure)`, `^$`, ""},
		{"Dr.Web", `^drweb`, `^drweb`, `^drweb`, ""},
		{"AhnLab", `(?i)^(ahnlab|v3|aeps|asc?dpd)`, `(?i)^(ahnlab|v3(net|lin|medic)|aeps)`, `(?i)^(ahnlab|v3)`, ""},
		{"a Korean server-security agent (SecuveTOS, RedCastle, REDOWL)", `(?i)secuve|redcastle|redowl|hizard`, `(?i)^(secuve|redcastle|redowl|tosd\b)`, `(?i)^(secuve|redcastle|redowl|tos_|rc_)`, ""},
		{"Deep Instinct or HarfangLab", `(?i)deepinstinct|hurukai`, `(?i)^(deepinstinct|hurukai)`, `^$`, ""},
		{"a module of redirfs or dazuko", `^$`, `^$`, `^(redirfs|dazuko|avflt)`, ""},
	}
}

func (p product) seen(services, programs string, modules []string) string {
	units, names := regexp.MustCompile(p.units), regexp.MustCompile(p.programs)
	for line := range strings.Lines(services) {
		if fields := strings.Fields(line); len(fields) > 0 && units.MatchString(strings.TrimSuffix(fields[0], ".service")) {
			return "unit " + fields[0]
		}
	}
	for line := range strings.Lines(programs) {
		if line = strings.TrimSpace(line); line != "" && names.MatchString(line) {
			return "program " + line
		}
	}
	if i := slices.IndexFunc(modules, regexp.MustCompile(p.modules).MatchString); i >= 0 {
		return "kernel module " + modules[i]
	}
	return ""
}

// taint matches the flags of a module in /proc/modules that is not from the kernel's own build.
var taint = regexp.MustCompile(`\([A-Z]*[OPE][A-Z]*\)$`)

// otherModules are modules from outside the kernel that only drive hardware, storage or networks.
var otherModules = regexp.MustCompile(`^(nvidia|gdrdrv|nv_peer|mlx|ib_|rdma_|mst_|knem|xpmem|iw_cm|irdma|ice|i40e|ixgbe|bnxt|qede?|qla|lpfc|smartpqi|megaraid|mpt|hpsa|hpilo|` +
	`zfs|spl|zavl|znvpair|zunicode|zcommon|zlua|icp|lustre|lnet|ksocklnd|obdclass|ptlrpc|mmfs|tracedev|kvdo|uds|drbd|vx|dmp|amf|gab|llt|emcp|sddlmf|hdlm|asm|oracle|openafs|vmw|vbox|wireguard|amd|kfd)`)

func foreign(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, _, _ := strings.Cut(line, " ")
		if taint.MatchString(line) && !otherModules.MatchString(name) && len(names) < 100 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
