package schedule

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// offsetForm is an offset from UTC as people write it: GMT+2, UTC-5, +02:00, +0530.
var offsetForm = regexp.MustCompile(`(?i)^(?:UTC|GMT|Z)? ?([+−-]) ?(\d{1,2})(?::?(\d{2}))?$`)

// places has a zone for offsets in minutes from UTC in winter, or all year.
var places = map[int]string{
	-660: "Pacific/Pago_Pago", -600: "Pacific/Honolulu", -570: "Pacific/Marquesas", -540: "America/Anchorage",
	-480: "America/Los_Angeles", -420: "America/Denver", -360: "America/Chicago", -300: "America/New_York", -240: "America/Halifax",
	-210: "America/St_Johns", -180: "America/Sao_Paulo", -120: "America/Noronha", -60: "Atlantic/Azores", 0: "Europe/London",
	60: "Europe/Berlin", 120: "Europe/Athens", 180: "Europe/Moscow", 210: "Asia/Tehran", 240: "Asia/Dubai", 270: "Asia/Kabul",
	300: "Asia/Karachi", 330: "Asia/Kolkata", 345: "Asia/Kathmandu", 360: "Asia/Dhaka", 390: "Asia/Yangon", 420: "Asia/Bangkok",
	480: "Asia/Shanghai", 525: "Australia/Eucla", 540: "Asia/Tokyo", 570: "Australia/Adelaide", 600: "Australia/Sydney",
	630: "Australia/Lord_Howe", 660: "Pacific/Noumea", 720: "Pacific/Auckland", 765: "Pacific/Chatham", 780: "Pacific/Tongatapu",
	840: "Pacific/Kiritimati",
}

// abbreviations has a zone for what clocks show in summer or winter, unless the abbreviation names a zone itself.
var abbreviations = map[string]string{
	"CEST": "Europe/Berlin", "MEZ": "Europe/Berlin", "MESZ": "Europe/Berlin", "EEST": "Europe/Athens", "WEST": "Europe/Lisbon",
	"BST": "Europe/London", "IST": "Asia/Kolkata", "MSK": "Europe/Moscow", "TRT": "Europe/Istanbul",
	"EDT": "America/New_York", "ET": "America/New_York", "CST": "America/Chicago", "CDT": "America/Chicago", "CT": "America/Chicago",
	"MDT": "America/Denver", "MT": "America/Denver", "PST": "America/Los_Angeles", "PDT": "America/Los_Angeles",
	"PT": "America/Los_Angeles", "AKST": "America/Anchorage", "AKDT": "America/Anchorage", "ADT": "America/Halifax",
	"NST": "America/St_Johns", "NDT": "America/St_Johns", "BRT": "America/Sao_Paulo", "ART": "America/Argentina/Buenos_Aires",
	"GST": "Asia/Dubai", "PKT": "Asia/Karachi", "ICT": "Asia/Bangkok", "WIB": "Asia/Jakarta", "SGT": "Asia/Singapore",
	"HKT": "Asia/Hong_Kong", "JST": "Asia/Tokyo", "KST": "Asia/Seoul", "AWST": "Australia/Perth", "ACST": "Australia/Adelaide",
	"ACDT": "Australia/Adelaide", "AEST": "Australia/Sydney", "AEDT": "Australia/Sydney", "NZST": "Pacific/Auckland",
	"NZDT": "Pacific/Auckland", "SAST": "Africa/Johannesburg", "EAT": "Africa/Nairobi", "WAT": "Africa/Lagos", "CAT": "Africa/Maputo",
}

// zoneAdvice says what to write for a name that is no zone, or "". The names Etc/GMT±n count westward from Greenwich, so their
// sign is the other one.
func zoneAdvice(name string) string {
	name = strings.TrimSpace(name)
	if place, ok := abbreviations[strings.ToUpper(name)]; ok {
		return ": write a place with that time, such as " + place
	}
	if successor, gone := goneZones[name]; gone {
		return " any more: write " + successor + ", which has the same times"
	}
	if strings.HasSuffix(name, " Standard Time") {
		return ": that is a name of Windows, write a place such as Europe/Berlin"
	}
	found := offsetForm.FindStringSubmatch(name)
	if found == nil {
		return ""
	}
	hours, _ := strconv.Atoi(found[2])
	minutes, _ := strconv.Atoi(found[3] + strings.Repeat("0", 1-min(1, len(found[3]))))
	east, sign := 1, "-"
	if found[1] != "+" {
		east, sign = -1, "+"
	}
	place := places[east*(hours*60+minutes)]
	fixed := ""
	switch {
	case hours == 0 && minutes == 0:
		fixed = "UTC"
	case minutes == 0 && (hours <= 12 || east > 0 && hours <= 14):
		fixed = fmt.Sprintf("Etc/GMT%s%d", sign, hours)
	}
	switch {
	case fixed == "" && place == "":
		return ""
	case fixed == "":
		return ": write a place with that time, such as " + place
	case place == "":
		return ": write " + fixed
	}
	return fmt.Sprintf(": write a place with that time, such as %s, or %s for a fixed offset", place, fixed)
}
