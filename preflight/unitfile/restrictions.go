package unitfile

import (
	"slices"
	"strconv"
	"strings"
)

// demand is a rule for settings that take something from the kubelet or the runtime.
type demand struct {
	keys   string
	breaks func(value string) bool
	severe bool // the node does not work
	why    string
}

// Restriction is a setting that takes something from a service that runs containers.
type Restriction struct {
	Placed

	Why    string
	Severe bool // the node does not work
}

// Restrictions returns the effective settings among all that restrict such a service.
func Restrictions(all []Placed) []Restriction {
	return restrictions(all, append(demands(), limits(stopped, false)...))
}

// GroupRestrictions returns the effective settings that restrict the programs in a slice, or the
// containers in scopes.
func GroupRestrictions(all []Placed) []Restriction { return restrictions(all, limits(ended, true)) }

func restrictions(all []Placed, demands []demand) []Restriction {
	var found []Restriction
	for _, d := range demands {
		for key := range strings.FieldsSeq(d.keys) {
			if last := Last(all, key); last.Key != "" && d.breaks(last.Value) {
				found = append(found, Restriction{last, d.why, d.severe})
			}
		}
	}
	return found
}

func given(value string) bool  { return value != "" }
func notOff(value string) bool { return !Off(value) }
func lowLimit(least int64) func(string) bool {
	return func(value string) bool {
		_, hard, both := strings.Cut(value, ":")
		if both {
			value = hard
		}
		n, err := strconv.ParseInt(value, 10, 64)
		return err == nil && n < least
	}
}

func noFamilies(value string) bool {
	list := strings.Fields(value)
	deny := strings.HasPrefix(value, "~")
	return slices.ContainsFunc([]string{"AF_UNIX", "AF_INET", "AF_NETLINK"}, func(f string) bool {
		return slices.Contains(list, f) == deny || value == "none" || deny && list[0] == "~"+f
	})
}

const (
	ownMounts   = "the unit gets its own mounts: volumes and containers do not see each other's mounts"
	inherited   = "every container inherits it"
	fewer       = "the node runs fewer pods"
	stopped     = "systemd stops the unit after this time"
	onTheseCPUs = "the kubelet, the runtime and the programs that they start run on these CPUs only"
	ended       = "systemd ends the containers after this time"
)

// limits are the settings of resource control (systemd.resource-control(5)), which slices and scopes
// also have.
func limits(after string, severe bool) []demand {
	limited := func(v string) bool { return v != "" && v != "infinity" }
	return []demand{
		{"IPAddressDeny RestrictNetworkInterfaces", given, true, "the unit cannot reach the hosts"},
		{"DevicePolicy", func(v string) bool { return v == "strict" || v == "closed" }, true, "the unit cannot open devices"},
		{"TasksMax", lowLimit(4096), false, fewer},
		{"MemoryMax MemoryHigh MemoryLimit CPUQuota", limited, false, fewer},
		{"AllowedCPUs AllowedMemoryNodes", given, false, onTheseCPUs},
		{"RuntimeMaxSec", func(v string) bool { return limited(v) && v != "0" }, severe, after},
	}
}

// demands are the settings that break the kubelet or the runtime (systemd.exec(5), and
// systemd.resource-control(5)).
func demands() []demand {
	return []demand{
		{"ProtectSystem ProtectHome PrivateTmp PrivateDevices PrivateMounts ProtectKernelTunables ProtectKernelModules ProtectKernelLogs ProtectControlGroups PrivateIPC PrivatePIDs", notOff, true, ownMounts},
		{"ReadOnlyPaths ReadOnlyDirectories InaccessiblePaths InaccessibleDirectories ReadWritePaths NoExecPaths TemporaryFileSystem RootDirectory RootImage BindPaths BindReadOnlyPaths", given, true, ownMounts},
		{"MountFlags", func(v string) bool { return v == "slave" || v == "private" }, true, ownMounts},
		{"ProtectProc", func(v string) bool { return v != "" && v != "default" }, true, ownMounts},
		{"NoNewPrivileges MemoryDenyWriteExecute RestrictSUIDSGID ProtectHostname ProtectClock PrivateUsers DynamicUser RestrictNamespaces", notOff, true, inherited},
		{"SystemCallFilter CapabilityBoundingSet SecureBits", given, true, inherited},
		{"RestrictAddressFamilies", noFamilies, true, inherited},
		{"RestrictRealtime LockPersonality", notOff, false, inherited},
		{"SystemCallArchitectures", given, false, inherited},
		{"PrivateNetwork", notOff, true, "the unit has no network"},
		{"User", func(v string) bool { return v != "" && v != "root" && v != "0" }, true, "the unit needs root"},
		{"LimitNOFILE", lowLimit(65536), false, fewer},
		{"LimitNPROC", lowLimit(4096), false, fewer},
		{"LimitFSIZE LimitAS LimitDATA", func(v string) bool { return v != "" && v != "infinity" }, false, fewer},
		{"DefaultTasksMax DefaultLimitNPROC", lowLimit(4096), false, fewer},
		{"CPUAffinity NUMAMask", given, false, onTheseCPUs},
	}
}

// RestrictionKeys are the keys of Restrictions.
func RestrictionKeys() []string {
	var keys []string
	for _, d := range append(demands(), limits(stopped, false)...) {
		keys = append(keys, strings.Fields(d.keys)...)
	}
	return keys
}
