package nvml

import "fmt"

// AtMargin is the temperature at which a card has no more than limit left to its
// target, in °C, or nil where one of the three is not known. From Ada on the library
// gives limits in this way ("T.Limit" in nvml.h): margin is what is left now, and
// less than zero beyond the target, where the limits are as well.
func AtMargin(temperature, margin, limit *int) *int {
	if temperature == nil || margin == nil || limit == nil {
		return nil
	}
	at := *temperature + *margin - *limit
	return &at
}

// heat leaves out how hot the card is now: hosts report faults when they change.
func (c Card) heat() string {
	if c.Temperature == nil || c.SlowdownTemperature == nil || *c.Temperature < *c.SlowdownTemperature {
		return ""
	}
	text := fmt.Sprintf("is too hot: it slows itself down from %d °C on", *c.SlowdownTemperature)
	if c.ShutdownTemperature != nil {
		text += fmt.Sprintf(" and turns itself off at %d °C", *c.ShutdownTemperature)
	}
	return text + "; look at the server's fans and at the air that reaches them"
}
