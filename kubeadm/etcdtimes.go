package kubeadm

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/kubeadm/node"
)

// EtcdTimes is kubernetes.etcd of airgap.yaml: how often the leader of etcd reports to the other members, and
// after how long without a report they elect another one. All members need the same values.
type EtcdTimes struct {
	HeartbeatInterval string `yaml:"heartbeatInterval,omitempty" json:"heartbeatInterval,omitempty" jsonschema:"example=150ms" jsonschema_description:"Time between two heartbeats of etcd's leader, in whole milliseconds up to 5s: about the longest round trip between control-plane hosts. Default: 100ms, or more if airgap install measures a longer round trip."`
	ElectionTimeout   string `yaml:"electionTimeout,omitempty" json:"electionTimeout,omitempty" jsonschema:"example=1500ms" jsonschema_description:"Time without a heartbeat after which members of etcd elect a new leader, in whole milliseconds up to 50s: at least ten times heartbeatInterval. Default: ten times heartbeatInterval, at least 1s."`
}

// The defaults and the largest election timeout are etcd's. Its tuning guide asks for a heartbeat interval of about
// one round trip, and an election timeout of at least ten.
const (
	heartbeatArg     = "heartbeat-interval"
	electionArg      = "election-timeout"
	defaultHeartbeat = 100 * time.Millisecond
	defaultElection  = time.Second
	longestElection  = 50 * time.Second
	// BeatsOfElection is the number of heartbeats, or round trips, in an election timeout.
	BeatsOfElection = 10
)

// EtcdTimesFor returns the times for this round trip between members of etcd. It returns no times if the defaults
// fit, or if the largest ones are too short.
func EtcdTimesFor(roundTrip time.Duration) EtcdTimes {
	const step = 10 * time.Millisecond
	heartbeat := (roundTrip + step).Round(step)
	if roundTrip <= defaultHeartbeat || heartbeat > longestElection/BeatsOfElection {
		return EtcdTimes{}
	}
	return EtcdTimes{heartbeat.String(), (heartbeat * BeatsOfElection).String()}
}

// Default sets the field that is missing beside the other one.
func (t *EtcdTimes) Default() {
	switch heartbeat, err := time.ParseDuration(t.HeartbeatInterval); {
	case t.HeartbeatInterval == "" && t.ElectionTimeout != "":
		t.HeartbeatInterval = defaultHeartbeat.String()
	case t.ElectionTimeout == "" && err == nil:
		t.ElectionTimeout = max(heartbeat*BeatsOfElection, defaultElection).String()
	}
}

// Validate returns all errors of the section after Default.
func (t EtcdTimes) Validate(at *field.Path) field.ErrorList {
	if t == (EtcdTimes{}) {
		return nil
	}
	var errs field.ErrorList
	of := func(name, text string, least, most time.Duration, example string) time.Duration {
		d, err := time.ParseDuration(text)
		if err != nil || d < least || d > most || d%time.Millisecond != 0 {
			errs = append(errs, field.Invalid(at.Child(name), text, fmt.Sprintf("expected whole milliseconds from %s to %s, such as %s", least, most, example)))
		}
		return d
	}
	heartbeat := of("heartbeatInterval", t.HeartbeatInterval, 10*time.Millisecond, longestElection/BeatsOfElection, "150ms")
	if len(errs) > 0 {
		return errs // the default of the other field comes from this one
	}
	of("electionTimeout", t.ElectionTimeout, heartbeat*BeatsOfElection, longestElection, (heartbeat * BeatsOfElection).String())
	return errs
}

// args returns the times as arguments of etcd, in the form of kubeadm's extraArgs.
func (t EtcdTimes) args() []any {
	var args []any
	for _, a := range []argument{{heartbeatArg, t.HeartbeatInterval}, {electionArg, t.ElectionTimeout}} {
		if d, err := time.ParseDuration(a.value); err == nil {
			args = append(args, object{"name": a.name, "value": strconv.FormatInt(d.Milliseconds(), 10)})
		}
	}
	return args
}

// validateEtcd refuses times in two places.
func (c Config) validateEtcd(at *field.Path) field.ErrorList {
	if c.Etcd != (EtcdTimes{}) && c.OverridesEtcdTimes() {
		return field.ErrorList{field.Forbidden(at, "kubernetes.overrides.clusterConfiguration.etcd.local has "+heartbeatArg+" or "+electionArg+" too: remove them there")}
	}
	return c.Etcd.Validate(at)
}

// SetsEtcdTimes reports whether the configuration decides about etcd's times, so that airgap must not choose them.
func (c Config) SetsEtcdTimes() bool {
	return c.Etcd != EtcdTimes{} || c.externalEtcd() || c.OverridesEtcdTimes()
}

// OverridesEtcdTimes reports whether kubernetes.overrides has one of etcd's times.
func (c Config) OverridesEtcdTimes() bool {
	args := c.ownEtcdArgs()
	return len(valuesOf(args, heartbeatArg))+len(valuesOf(args, electionArg)) > 0
}

// ownEtcdArgs are the site's arguments of etcd, also those in variables: etcd does not start with an argument in both.
func (c Config) ownEtcdArgs() []argument {
	args := c.extraArgs(node.Etcd)
	variables, _ := component(c.Overrides.ClusterConfiguration, node.Etcd)["extraEnvs"].([]any)
	for _, item := range variables {
		if flag, is := node.EtcdFlag(overlay.NameOf(item)); is {
			args = append(args, argument{flag, overlay.TextOf(item, "value")})
		}
	}
	return args
}

func (c Config) externalEtcd() bool {
	etcd, _ := c.Overrides.ClusterConfiguration["etcd"].(map[string]any)
	return etcd["external"] != nil
}

// EtcdMillis returns the times of this configuration's members in milliseconds.
func (c Config) EtcdMillis() (heartbeat, election int64) {
	flags := map[string]string{}
	for _, a := range append(argumentsOfList(c.Etcd.args()), c.ownEtcdArgs()...) {
		flags[a.name] = a.value
	}
	return EtcdMillisOf(flags)
}

// EtcdMillisOf returns the times in arguments of etcd by name, in milliseconds; 0 for a value that etcd refuses.
func EtcdMillisOf(flags map[string]string) (heartbeat, election int64) {
	of := func(name string, otherwise time.Duration) int64 {
		text, set := flags[name]
		if !set {
			return otherwise.Milliseconds()
		}
		ms, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return 0
		}
		return max(0, ms)
	}
	return of(heartbeatArg, defaultHeartbeat), of(electionArg, defaultElection)
}

// ElectionTimeout returns the time without a heartbeat after which members of etcd elect a leader.
func (c Config) ElectionTimeout() time.Duration {
	set := valuesOf(append(argumentsOfList(c.Etcd.args()), c.ownEtcdArgs()...), electionArg)
	if len(set) == 0 {
		return defaultElection
	}
	ms, err := strconv.Atoi(set[len(set)-1])
	if err != nil || ms <= 0 {
		return defaultElection // etcd refuses the value
	}
	return time.Duration(ms) * time.Millisecond
}
