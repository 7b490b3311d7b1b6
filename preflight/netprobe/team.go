package netprobe

// Team is the team of the site that can remove the cause of a finding.
type Team string

// The teams.
const (
	NetworkTeam    Team = "network"
	HostTeam       Team = "hosts"
	BalancerTeam   Team = "balancer"
	DNSTeam        Team = "dns"
	HypervisorTeam Team = "hypervisor"
)

// Name is the name of the team in a sentence.
func (t Team) Name() string {
	switch t {
	case HostTeam:
		return "host team"
	case BalancerTeam:
		return "load balancer team"
	case DNSTeam:
		return "DNS team"
	default:
		return string(t) + " team"
	}
}

// Label names the owner of a finding, as in the line of a report.
func (t Team) Label() string { return "owner: " + t.Name() }

// onNetwork reports whether the page for the network administrators has the findings of the team.
func (t Team) onNetwork() bool { return t == NetworkTeam || t == BalancerTeam }
