"""Install, upgrade, uninstall, and the doctor."""
