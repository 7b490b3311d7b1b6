package nvml

import "fmt"

// AtMargin converts a limit to a temperature in °C, or nil if one of the values is unknown. From Ada on
// the library reports limits as margins to a target temperature ("T.Limit" in nvml.h): margin is the
// current distance to the target, and negative above it. Limits above the target are negative too.
func AtMargin(temperature, margin, limit *int) *int {
	if temperature == nil || margin == nil || limit == nil {
		return nil
	}
	at := *temperature + *margin - *limit
	return &at
}

// heat does not contain the current temperature: hosts report a fault when its text changes.
func (c GPU) heat() string {
	if c.Temperature == nil || c.SlowdownTemperature == nil || *c.Temperature < *c.SlowdownTemperature {
		return ""
	}
	text := fmt.Sprintf("is too hot: it throttles from %d °C on", *c.SlowdownTemperature)
	if c.ShutdownTemperature != nil {
		text += fmt.Sprintf(" and shuts down at %d °C", *c.ShutdownTemperature)
	}
	return text + "; check the server's fans and airflow"
}
