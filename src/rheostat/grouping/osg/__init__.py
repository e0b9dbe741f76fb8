"""OSG, online shuffle grouping (DABS-Storm §5.2): tasks learn what values cost, schedulers balance by it."""
